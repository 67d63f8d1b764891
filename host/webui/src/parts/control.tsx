// SPDX-License-Identifier: MIT OR Apache-2.0
// Commands to a process that is recorded or sampled, if the server was started with --control.
import { useState } from "preact/hooks";
import { command, Refusal, useAnswer } from "../data/ask";
import type { ControlState } from "../data/types";
import { exactBytes, plain } from "../text/format";

type Action = "start" | "stop" | "mark" | "flush" | "dump" | "rate";

const DONE: Record<Action, string> = {
  start: "The process is recorded again", stop: "Recording is stopped; the process continues", mark: "The trace is marked", flush: "What was recorded is written",
  dump: "A dump is written", rate: "The rate is set; earlier samples keep theirs",
};
const DONE_WITH_SAMPLES: Partial<Record<Action, string>> = { start: "The process is sampled", stop: "No samples are taken; existing samples are kept" };

// `path` makes the address of a question about the process.
export function Control({ path, of }: { path: (own?: Record<string, string>) => string; of?: string }) {
  const answer = useAnswer<ControlState>(path());
  const [later, setLater] = useState<ControlState | undefined>();
  const [text, setText] = useState("");
  const [rate, setRate] = useState("");
  const [busy, setBusy] = useState<Action | undefined>();
  const [said, setSaid] = useState<{ text: string; wrong: boolean } | undefined>();
  const [answered, setAnswered] = useState(0);
  const now = later ?? answer.data, samples = !!now?.sample_bytes;
  // What a command changes is in the trace when the recorder has written it.
  const flush = async (): Promise<string | undefined> => {
    try {
      await command(path({ action: "flush" }));
      return undefined;
    } catch (problem) {
      return problem instanceof Refusal ? problem.message : String(problem);
    }
  };
  const send = async (action: Action): Promise<void> => {
    setBusy(action);
    setSaid(undefined);
    try {
      setLater(await command<ControlState>(path(action === "mark" ? { action, text } : action === "rate" ? { action, bytes: rate } : { action })));
      if (action === "mark")
        setText((now) => now === text ? "" : now); // not what was typed since
      const late = action === "flush" || samples ? undefined : await flush();
      setSaid({ text: `${samples && DONE_WITH_SAMPLES[action] || DONE[action]}. ${samples && action !== "dump" ? "" : late === undefined ? "Refresh shows it." : `The trace shows it later: ${late}`}`, wrong: false });
    } catch (problem) {
      setSaid({ text: problem instanceof Refusal ? problem.message : String(problem), wrong: true });
    }
    setAnswered((before) => before + 1);
    setBusy(undefined);
  };
  if (answer.problem)
    return <p class="problem" role="alert">{plain(answer.problem.message)} <button type="button" onClick={answer.retry}>Retry</button></p>;
  if (!now?.allowed)
    return null;
  if (now.absence !== null)
    return <p class="control faint">The process cannot be commanded from here: {plain(now.absence)}. <button type="button" onClick={answer.retry}>Ask again</button></p>;
  const words = <span role={said?.wrong ? "alert" : "status"} class={said?.wrong ? "wrong" : ""}>{said && plain(said.text)}</span>;
  const name = `Commands to ${of ?? "the process"}`;
  if (samples)
    return (
      <form class="control" aria-label={name} aria-busy={!!busy} data-answered={answered} onSubmit={(event) => (event.preventDefault(), void send("rate"))}>
        <button type="button" disabled={!!busy} onClick={() => void send("dump")} title="write what is sampled now as a heap dump">Dump</button>
        <button type="button" disabled={!!busy} onClick={() => void send(now.recording ? "stop" : "start")}
          title={now.recording ? "take no more samples; the process continues" : "take samples of the allocations of the process"}>{now.recording ? "Stop sampling" : "Start sampling"}</button>
        <input type="number" min="1" step="1" max={2 ** 48} required placeholder={String(now.sample_bytes)} aria-label="Mean number of bytes between two samples" value={rate}
          onInput={(event) => setRate(event.currentTarget.value)} />
        <button type="submit" disabled={!!busy} title={`one sample in so many bytes; now ${exactBytes(now.sample_bytes!)}`}>Set rate</button>
        {words}
      </form>
    );
  return (
    <form class="control" aria-label={name} aria-busy={!!busy} data-answered={answered} onSubmit={(event) => (event.preventDefault(), void send("mark"))}>
      <input type="text" placeholder="What happens now" aria-label="Text of the mark" maxLength={100} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" disabled={!!busy} title="write this text into the trace, at this instant">Mark</button>
      <button type="button" disabled={!!busy} onClick={() => void send(now.recording ? "stop" : "start")}
        title={now.recording ? "the process continues without being recorded" : "record the process again"}>{now.recording ? "Stop recording" : "Start recording"}</button>
      <button type="button" disabled={!!busy} onClick={() => void send("flush")} title="write the events that the recorder still holds in its buffers">Flush</button>
      {words}
    </form>
  );
}
