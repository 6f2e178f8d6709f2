// What a button says while its form is being sent, and how it gets its own words back.

/** Puts `text` on the button and returns what undoes it; nodes are kept, so that icons and listeners come back too. */
export function relabel(button, text) {
  return button.localName === "input" ? relabelInput(button, text) : relabelButton(button, text);
}

function relabelInput(button, text) {
  if (button.type === "image") return () => {};
  const before = button.getAttribute("value");
  button.value = text;
  return () => {
    if (button.value !== text) return;
    if (before === null) button.removeAttribute("value");
    else button.value = before;
  };
}

function relabelButton(button, text) {
  const before = [...button.childNodes];
  const label = document.createTextNode(text);
  button.replaceChildren(label);
  return () => {
    // Whoever has put something else there meanwhile knows better.
    if (button.firstChild === label && button.childNodes.length === 1) button.replaceChildren(...before);
  };
}
