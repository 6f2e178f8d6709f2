// An extension that does what a tab's own menu does, when a page asks for it: no driver can.

chrome.runtime.onMessageExternal.addListener((_, { tab }, answer) => {
  chrome.tabs.duplicate(tab.id).then(({ id }) => answer(id));
  return true;
});
