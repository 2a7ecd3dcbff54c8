import type { ComponentChildren } from "preact";
import { Frame, type MenuEntry } from "../../parts/frame.tsx";
import { session } from "../api/session.ts";
import { useSession } from "../core/session-context.ts";

const MENU: readonly (readonly [group: string, entries: readonly MenuEntry[]])[] = [
  [
    "Customers",
    [
      { path: "/operators", text: "Overview" },
      { path: "/operators/tenants", text: "Tenants" },
      { path: "/operators/sender-ids", text: "Sender IDs" },
      { path: "/operators/fundings", text: "Fundings" },
    ],
  ],
  [
    "Traffic",
    [
      { path: "/operators/messages", text: "Find a message" },
      { path: "/operators/explain", text: "Explain a number" },
      { path: "/operators/connectors", text: "Connectors" },
      { path: "/operators/routes", text: "Routes" },
    ],
  ],
  [
    "Operation",
    [
      { path: "/operators/put-aside", text: "Put aside" },
      { path: "/operators/checks", text: "Checks" },
      { path: "/operators/audit", text: "Audit" },
      { path: "/operators/people", text: "Operators" },
      { path: "/operators/sessions", text: "Your sessions" },
    ],
  ],
];

/** The frame of every page. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const own = useSession();
  return (
    <Frame
      menu={MENU}
      bar={
        <>
          <strong class="tenant">Operators</strong>
          <span class="status plain">{own.role}</span>
        </>
      }
      name={own.name}
      role={own.role}
      onSignOut={() => void signOut()}
    >
      {children}
    </Frame>
  );
}

async function signOut(): Promise<void> {
  await session.end().catch(() => undefined);
  location.assign("/operators/sign-in");
}
