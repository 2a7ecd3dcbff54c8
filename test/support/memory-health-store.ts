import type { HealthStore } from "../../services/routing/app/ports.ts";
import type { DeliveryHealth } from "../../services/routing/domain/delivery-health.ts";
import type { BindHealth, ConnectorHealth } from "../../services/routing/domain/health.ts";

/** A store of reports and connector health in memory. It keeps reports without a limit of time. */
export function createMemoryHealthStore(): HealthStore {
  const reports = new Map<string, BindHealth>();
  const deliveries = new Map<string, DeliveryHealth>();
  const health = new Map<string, ConnectorHealth>();
  const inOrder = <T>(map: ReadonlyMap<string, T>) =>
    [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  return {
    async saveReports(newest) {
      for (const report of newest) reports.set(`${report.connectorId}/${report.bind}`, report);
    },
    listReports: async () => inOrder(reports),
    listHealth: async () => [...health.values()],
    async saveDeliveries(newest) {
      for (const report of newest) {
        deliveries.set(`${report.connectorId}/${report.country}`, report);
      }
    },
    listDeliveries: async () => inOrder(deliveries),
    async saveHealth(changes) {
      for (const { before, after } of changes) {
        const stored = health.get(after.connectorId) ?? before;
        const isSame = (["state", "sinceMs", "strikes"] as const).every(
          (name) => stored[name] === before[name],
        );
        if (isSame) health.set(after.connectorId, after);
      }
    },
    async removeHealth(connectorIds) {
      for (const id of connectorIds) health.delete(id);
    },
  };
}
