import { useResource } from "../../core/use-resource.ts";
import { Empty, PageTitle, Status } from "../../parts/common-parts.tsx";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { Route } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { useMay } from "../core/session-context.ts";
import { Waiting } from "../parts/common-parts.tsx";

/** The routes in the order in which they are tried. */
export function RoutesPage() {
  const list = useResource(
    "routes",
    (signal) => rpc<{ routes: Route[] }>("RoutingService/ListRoutes", {}, signal),
    10_000,
  );
  const mayChange = useMay("RoutingService/UpdateRoute");
  const routes = (list.data?.routes ?? []).toSorted((a, b) => a.priority - b.priority);
  return (
    <>
      <PageTitle note="The lowest priority number is tried first; equal ones share by weight.">
        Routes
      </PageTitle>
      <Waiting of={list} />
      {list.data !== undefined && routes.length === 0 && (
        <Empty title="There is no route.">
          Make one with <code>smsctl route add</code>.
        </Empty>
      )}
      {routes.length > 0 && (
        <Table
          caption="Routes"
          rows={routes}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Name", cell: (row) => <strong>{row.name}</strong> },
            { heading: "Connector", cell: (row) => row.connectorId },
            {
              heading: "Status",
              cell: (row) => <Status value={row.enabled ? "enabled" : "disabled"} />,
            },
            { heading: "Priority", isNumber: true, cell: (row) => row.priority },
            { heading: "Weight", isNumber: true, cell: (row) => row.weight, isMinor: true },
            { heading: "For", cell: limitsOf },
            {
              heading: "Prefixes",
              isNumber: true,
              cell: (row) => row.prices.length.toLocaleString(),
            },
            ...(mayChange
              ? [
                  {
                    heading: "Change",
                    cell: (row: Route) => <Switch route={row} onDone={list.reload} />,
                  },
                ]
              : []),
          ]}
        />
      )}
    </>
  );
}

function limitsOf({ plans, senderIds, tenantIds, trafficClasses }: Route): string {
  const limits = [
    ...trafficClasses.map((one) => word(one, "TRAFFIC_CLASS")),
    ...plans.map((plan) => `plan ${plan}`),
    ...(senderIds.length === 0 ? [] : [`${senderIds.length} sender IDs`]),
    ...(tenantIds.length === 0 ? [] : [`${tenantIds.length} tenants`]),
  ];
  return limits.length === 0 ? "all" : limits.join(", ");
}

function Switch({ route, onDone }: { readonly route: Route; readonly onDone: () => void }) {
  const { id, name, enabled } = route;
  return (
    <ConfirmButton
      key={String(enabled)}
      label={enabled ? "Disable" : "Enable"}
      title={`${enabled ? "Disable" : "Enable"} ${name}?`}
      isDangerous={enabled}
      act={() =>
        rpc("RoutingService/UpdateRoute", {
          ...{ idOrName: id, fields: ["enabled"] },
          route: { enabled: !enabled },
        })
      }
      onDone={onDone}
    >
      {enabled
        ? "New messages take other routes; those that wait for it move to their next route."
        : "New messages may take this route."}
    </ConfirmButton>
  );
}
