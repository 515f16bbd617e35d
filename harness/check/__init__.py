"""One schema, one question: which engine can be trusted with it?"""
