// SPDX-License-Identifier: MIT OR Apache-2.0
// The token is sent once; the server answers with a cookie that scripts cannot read.
import { useState } from "preact/hooks";

export function Login({ again }: { again: () => void }) {
  const [wrong, setWrong] = useState(false);
  const [token, setToken] = useState("");
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await fetch("/?token=" + encodeURIComponent(token), { headers: { Accept: "text/html" }, credentials: "same-origin" });
      const answer = await fetch("/list", { credentials: "same-origin" });
      setWrong(answer.status === 401);
      if (answer.ok)
        again();
    } catch {
      setWrong(true);
    }
  };
  return (
    <main class="login" id="main">
      <h1>This server requires a token</h1>
      <form onSubmit={enter}>
        <label for="token">The token with which the server was started</label>
        <input id="token" type="password" value={token} autocomplete="current-password" onInput={(event) => setToken(event.currentTarget.value)} />
        <button type="submit" class="main">Enter</button>
        {wrong && <p class="problem" role="alert">The token is wrong.</p>}
      </form>
    </main>
  );
}
