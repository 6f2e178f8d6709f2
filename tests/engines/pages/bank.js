// A page on another site that sends the customer back by a form, as 3-D Secure does.

document.getElementById("back").action = new URLSearchParams(location.search).get("back");
