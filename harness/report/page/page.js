function themeButton() {
  const order = ['system', 'light', 'dark'];
  const button = byId('theme');
  const stored = () => { try { return localStorage.getItem('maskcourt-theme'); } catch { return null; } };
  let theme = order.includes(stored()) ? stored() : 'system';
  const show = () => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  button.addEventListener('click', () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    try { localStorage.setItem('maskcourt-theme', theme); } catch { /* it is not remembered then */ }
    show();
  });
  show();
}

themeButton();
titleAndAlerts();
given('headline', 'cards');
matrix();
bugsSection();
given('pairs', 'cards');
fill('note-spellings', 'This is asked once for each engine, not of each schema: ', el('code', {}, DATA.about.spelled), '.');
errorsTable();
heatMaps();
compileTable();
timesTable();
leftOut();
departuresTable();
manifestSection();
explorer();
fromAddress();
