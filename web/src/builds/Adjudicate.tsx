// Adjudication: one question at a time, by keyboard alone; nobody sees what others said.
import { useEffect, useRef, useState } from "preact/hooks";
import { useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Empty, Field, Sheet, ErrorBox } from "../kit/kit";
import { Link, to, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { useBuildName, useShelf } from "../shelf";
import { QuestionScreen } from "./QuestionScreen";
import { type QueueProgress, queueApi } from "./types";
import "./builds.css";

const KEPT = "overread-person";

export default function Adjudicate({ parts }: ViewProps) {
  const build = parts.build ?? "";
  const { shelf } = useShelf();
  const name = useBuildName(build);
  const { read_only, truth, user } = shelf.rights;
  // In this window alone, so that two people may sit at two windows.
  const [typed, setTyped] = useState(() => sessionStorage.getItem(KEPT) ?? "");
  const [seated, setSeated] = useState(false);
  const [kind, setKind] = useQuery("kind");
  const person = user ?? typed;
  const sit = (as: string) => {
    sessionStorage.setItem(KEPT, as);
    setTyped(as);
    setSeated(true);
  };
  const back = <Link href={to("builds", build)}>Back to the build</Link>;
  return (
    <>
      <Crumbs trail={[{ text: name, href: to("builds", build) }, { text: "Questions" }]} />
      {read_only ? (
        <Empty title="This page is read-only: verdicts cannot be given here.">
          <p style={{ margin: "0 auto 0.5rem" }}>
            Whoever serves it can start <code>overread view</code> without <code>--read-only</code>.
          </p>
          {back}
        </Empty>
      ) : !truth ? (
        <Empty title="The truth is withheld on this page, and the questions show it.">{back}</Empty>
      ) : seated ? (
        <QuestionScreen build={build} person={person} kind={kind} leave={() => setSeated(false)} />
      ) : (
        <Welcome build={build} user={user ?? null} typed={typed} kind={kind} setKind={setKind} sit={sit} />
      )}
    </>
  );
}

interface WelcomeProps {
  build: string;
  user: string | null;
  typed: string;
  kind: string;
  setKind: (kind: string) => void;
  sit: (person: string) => void;
}

function Welcome({ build, user, typed, kind, setKind, sit }: WelcomeProps) {
  const [name, setName] = useState(user ?? typed);
  const asked = useApi<QueueProgress>(queueApi(build, "progress"));
  const input = useRef<HTMLInputElement>(null);
  const begin = useRef<HTMLButtonElement>(null);
  const ready = asked.data !== null;
  useEffect(() => {
    // Later than the frame, which takes the focus when a view is opened.
    const turn = requestAnimationFrame(() => (input.current ?? begin.current)?.focus());
    return () => cancelAnimationFrame(turn);
  }, [ready]);
  if (asked.problem) return <ErrorBox problem={asked.problem} retry={asked.reload} />;
  if (!asked.data) return <Loading what="the questions" />;
  const kinds = Object.entries(asked.data.kinds);
  if (!asked.data.all.questions)
    return (
      <Empty title="There are no questions for people here.">
        <Link href={to("builds", build)}>Back to the build</Link>
      </Empty>
    );
  return (
    <div class="adjudicate-welcome">
      <Sheet>
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim()) sit(name.trim());
          }}
        >
          <h1 style={{ margin: 0 }}>Who are you?</h1>
          {user ? (
            <p>
              You are <strong>{user}</strong> (logged in). Your verdicts are saved under this name.
            </p>
          ) : (
            <Field label="Your name or initials">
              <input
                value={name}
                maxLength={80}
                required
                autocomplete="off"
                ref={input}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            </Field>
          )}
          {kinds.length > 1 ? (
            <Field label="Kind of question">
              <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
                <option value="">all kinds ({asked.data.all.questions})</option>
                {kinds.map(([own, tally]) => (
                  <option key={own} value={own}>
                    {own} ({tally.questions})
                  </option>
                ))}
              </select>
            </Field>
          ) : null}
          <ul class="adjudicate-rules">
            <li>Two people read each question, and neither sees what the other said. Where they differ, a third decides.</li>
            <li>Each verdict is saved at once and can be undone.</li>
            <li>Everything works from the keyboard; the keys are shown on the screen.</li>
          </ul>
          <div>
            <button type="submit" class="chief" ref={begin}>
              Start <kbd>Enter</kbd>
            </button>
          </div>
        </form>
      </Sheet>
    </div>
  );
}
