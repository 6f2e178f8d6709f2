// Stands for whoever sends messages into a Cloudflare Queue, and sends one several times: `{ "message": …, "copies": 5 }`.

const MOST_COPIES = 20;

export default {
  async fetch(request, env) {
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    const { message, copies } = await request.json();
    const count = Math.min(Math.max(copies, 1), MOST_COPIES);
    // Each on its own, as from senders that know nothing of each other.
    await Promise.all(Array.from({ length: count }, () => env.MESSAGES.send(message)));
    return Response.json({ sent: count });
  },
};
