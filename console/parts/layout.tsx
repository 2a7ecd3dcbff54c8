import type { ComponentChildren } from "preact";
import { session } from "../api/console.ts";
import { chooseMode, currentMode } from "../api/http.ts";
import { useSession } from "../core/session-context.ts";
import { Frame, type MenuEntry } from "./frame.tsx";

type Entry = MenuEntry & { readonly scope?: string };

const ENTRIES: readonly (readonly [group: string, entries: readonly Entry[]])[] = [
  [
    "Messages",
    [
      { path: "/console", text: "Overview" },
      { path: "/console/send", text: "Quick send", scope: "messages:send" },
      { path: "/console/messages", text: "Messages", scope: "messages:read" },
      { path: "/console/campaigns", text: "Campaigns", scope: "campaigns:read" },
      { path: "/console/inbound", text: "Inbound", scope: "inbound:read" },
      { path: "/console/suppressions", text: "Opt-outs", scope: "suppressions:manage" },
      { path: "/console/usage", text: "Usage", scope: "usage:read" },
    ],
  ],
  [
    "Account",
    [
      { path: "/console/sender-ids", text: "Sender IDs", scope: "sender_ids:read" },
      { path: "/console/webhooks", text: "Webhooks", scope: "webhooks:manage" },
      { path: "/console/keys", text: "API keys", scope: "keys:manage" },
      { path: "/console/statement", text: "Statement", scope: "wallet:read" },
      { path: "/console/people", text: "People", scope: "people:manage" },
      { path: "/console/account", text: "Settings", scope: "account:manage" },
      { path: "/console/audit", text: "Audit", scope: "audit:read" },
      { path: "/console/sessions", text: "Your sessions" },
    ],
  ],
];

/** The frame of every page: where one is, who one is, and in which mode. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const own = useSession();
  const isTest = currentMode() === "test";
  const menu = ENTRIES.map(
    ([group, entries]) =>
      [
        group,
        entries.filter(({ scope }) => scope === undefined || own.scopes.includes(scope)),
      ] as const,
  );
  return (
    <Frame
      menu={menu}
      below={
        <p>
          <a href="/docs" target="_blank" rel="noopener">
            API documentation
          </a>
        </p>
      }
      bar={
        <>
          <TenantChoice />
          <ModeChoice />
        </>
      }
      name={own.name}
      role={own.role}
      onSignOut={() => void signOut()}
    >
      {isTest && <p class="banner">Test mode: messages reach no phone and cost nothing.</p>}
      {own.tenant.suspended && (
        <p class="banner bad">
          This account is suspended: it can read, and cannot send. Write to your provider.
        </p>
      )}
      {!own.tenant.email_verified && (
        <p class="banner bad">
          The account's email is not verified, so it cannot send. An owner verifies it by signing in
          with a link by e-mail.
        </p>
      )}
      {children}
    </Frame>
  );
}

function ModeChoice() {
  return (
    <fieldset class="mode">
      <legend class="hidden">Mode</legend>
      {(["live", "test"] as const).map((mode) => (
        <label key={mode}>
          <input
            type="radio"
            name="mode"
            checked={mode === currentMode()}
            onChange={() => {
              chooseMode(mode);
              location.reload();
            }}
          />
          {mode === "live" ? "Live" : "Test"}
        </label>
      ))}
    </fieldset>
  );
}

function TenantChoice() {
  const { tenant, memberships } = useSession();
  if (memberships.length < 2) return <strong class="tenant">{tenant.name}</strong>;
  return (
    <label class="tenant">
      <span class="hidden">Account</span>
      <select
        value={tenant.id}
        onChange={async (event) => {
          await session.switchTenant(event.currentTarget.value);
          location.assign("/console");
        }}
      >
        {memberships.map((one) => (
          <option key={one.tenant_id} value={one.tenant_id}>
            {one.name}
          </option>
        ))}
      </select>
    </label>
  );
}

async function signOut(): Promise<void> {
  await session.end().catch(() => undefined);
  location.assign("/console/sign-in");
}
