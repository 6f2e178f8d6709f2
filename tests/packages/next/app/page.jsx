"use client";

import { useEffect } from "react";

// Imported on the server as well, where the page is drawn first.
import { order } from "../../app.js";

export default function Page() {
  useEffect(() => {
    order().catch(String).then((word) => (document.title = word));
  }, []);
  return <p>Paying …</p>;
}
