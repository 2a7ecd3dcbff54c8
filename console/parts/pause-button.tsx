import { campaigns } from "../api/console.ts";
import type { Campaign } from "../api/types.ts";
import { useAction } from "../core/use-action.ts";
import { ProblemBox } from "./common-parts.tsx";

/** Pauses or resumes a campaign; nothing for one that can do neither. */
export function PauseButton({
  campaign: { id, name, status },
  reload,
  isSmall = false,
}: {
  readonly campaign: Pick<Campaign, "id" | "name" | "status">;
  readonly reload: () => void;
  readonly isSmall?: boolean;
}) {
  const act = useAction(
    (key: string, action: "pause" | "resume") => campaigns.act(key, id, action),
    reload,
  );
  const isPaused = status === "paused";
  if (!isPaused && status !== "running" && status !== "scheduled") return null;
  return (
    <>
      <button
        type="button"
        class={[isSmall ? "small" : "", isPaused && !isSmall ? "primary" : ""].join(" ").trim()}
        disabled={act.isBusy}
        aria-label={`${isPaused ? "Resume" : "Pause"} ${name}`}
        onClick={() => void act.run(isPaused ? "resume" : "pause")}
      >
        {textOf(isPaused, act.isBusy)}
      </button>
      <ProblemBox problem={act.problem} />
    </>
  );
}

function textOf(isPaused: boolean, isBusy: boolean): string {
  if (isPaused) return isBusy ? "Resuming…" : "Resume";
  return isBusy ? "Pausing…" : "Pause";
}
