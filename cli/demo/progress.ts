import process from "node:process";
import progress from "cli-progress";
import type { Progress } from "./traffic.ts";

const BAR_INTERVAL_MS = 100;
const LINE_INTERVAL_MS = 2_000;

/** Shows progress on stderr until the returned function is called: two bars on a terminal, plain lines in a pipe. */
export const showProgress = (read: () => Progress): () => void =>
  process.stderr.isTTY ? showBars(read) : showLines(read);

function showBars(read: () => Progress): () => void {
  const { messages } = read();
  const bars = new progress.MultiBar({
    format: "{name} {bar} {value}/{total}",
    stream: process.stderr,
    hideCursor: true,
    gracefulExit: true,
  }, progress.Presets.shades_grey);
  const sent = bars.create(messages, 0, { name: "sent    " });
  const consumed = bars.create(messages, 0, { name: "consumed" });
  const draw = (): void => {
    const now = read();
    sent.update(now.sent);
    consumed.update(now.consumed);
  };
  const timer = setInterval(draw, BAR_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    draw();
    bars.stop();
  };
}

function showLines(read: () => Progress): () => void {
  const write = (): void => {
    const { messages, sent, consumed } = read();
    process.stderr.write(`sent ${sent}/${messages}, consumed ${consumed}/${messages}\n`);
  };
  const timer = setInterval(write, LINE_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    write();
  };
}
