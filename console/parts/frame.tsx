import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { ROOT } from "../core/console-path.ts";

/** One page of the menu. */
export type MenuEntry = { readonly path: string; readonly text: string };

/** The frame of every page: the bar with the person's name, the menu of pages, and the page. */
export function Frame({
  menu,
  below,
  bar,
  name,
  role,
  onSignOut,
  children,
}: {
  readonly menu: readonly (readonly [group: string, entries: readonly MenuEntry[]])[];
  /** Below the menu. */
  readonly below?: ComponentChildren;
  /** In the bar, before the person. */
  readonly bar: ComponentChildren;
  readonly name: string;
  readonly role: string;
  readonly onSignOut: () => void;
  readonly children: ComponentChildren;
}) {
  const { path } = useLocation();
  const [isOpen, setOpen] = useState(false);
  const isHere = (one: string) =>
    one === ROOT ? path === one : path === one || path.startsWith(`${one}/`);
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <button
          type="button"
          class="menu-button"
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
        {bar}
        <div class="who">
          <span title={`Role: ${role}`}>{name}</span>
          <button type="button" class="small" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </header>
      <nav id="menu" class={isOpen ? "menu open" : "menu"} aria-label="Pages">
        {menu
          .filter(([, entries]) => entries.length > 0)
          .map(([group, entries]) => (
            <div key={group}>
              <h2>{group}</h2>
              <ul>
                {entries.map((entry) => (
                  <li key={entry.path}>
                    <a
                      href={entry.path}
                      aria-current={isHere(entry.path) ? "page" : undefined}
                      onClick={() => setOpen(false)}
                    >
                      {entry.text}
                    </a>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        {below}
      </nav>
      <main id="content">{children}</main>
    </div>
  );
}
