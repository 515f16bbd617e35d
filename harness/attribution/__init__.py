"""Why a verdict is: where the error lies, which keyword is in force, what is declared."""
