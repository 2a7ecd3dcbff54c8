/** Reads of one tenant leave the services to others (docs/contract.md#rate-limits). */
import { expect } from "chai";
import { createOperations } from "../../../gateway/operations/all.ts";
import { SCOPES } from "../../../services/shared/core/scopes.ts";
import { eventually } from "../../support/poll.ts";
import { API_KEY, memoryPorts, openRestApp, type RestApp } from "../../support/rest-app.ts";

describe("REST: the share of reads of one tenant", () => {
  let app: RestApp;
  let reading = 0;
  let most = 0;
  let answer: () => void;

  beforeEach(async () => {
    reading = 0;
    most = 0;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const read = (found: object) => async () => {
      reading += 1;
      most = Math.max(most, reading);
      await answered;
      reading -= 1;
      return found;
    };
    const { messaging, webhooks } = memoryPorts();
    app = await openRestApp({
      caller: { scopes: new Set(SCOPES) },
      ports: {
        messaging: {
          ...messaging,
          listMessages: read({ messages: [], hasMore: false, nextBeforeId: "" }),
          getUsage: read({ groups: [], asOfMs: 0n }),
        } as never,
        webhooks: { ...webhooks, readEvents: read({ bodies: [], cursor: "c" }) } as never,
      },
    });
  });
  afterEach(async () => {
    answer();
    await app.close();
  });

  const get = (path: string) =>
    fetch(`${app.url}${path}`, { headers: { authorization: `Bearer ${API_KEY}` } });

  for (const [path, atOnce, waiting] of [
    ["/v1/messages?limit=100", 4, 256],
    ["/v1/events", 4, 256],
    ["/v1/usage", 1, 128],
  ] as const) {
    it(`${path}: ${atOnce} at once, ${waiting} wait, more are refused, other requests go on`, async () => {
      const statuses: number[] = [];
      const note = async (response: Promise<Response>) => {
        statuses.push((await response).status);
      };
      const all = Array.from({ length: atOnce + waiting + 2 }, () => note(get(path)));
      await eventually(() => statuses.length === 2 && reading === atOnce);
      expect(statuses).to.deep.equal([429, 429]);
      expect((await get("/v1/sender-ids/x")).status).to.equal(404);
      answer();
      await Promise.all(all);
      expect(statuses.slice(2)).to.deep.equal(Array(atOnce + waiting).fill(200));
      expect(most).to.equal(atOnce);
    });
  }

  it("a refusal says when to come again", async () => {
    const all = Array.from({ length: 130 }, () => get("/v1/usage"));
    const refused = await Promise.race(all);
    expect(refused.status).to.equal(429);
    expect(refused.headers.get("retry-after")).to.equal("1");
    expect(await refused.json()).to.include({ code: "rate_limited" });
    answer();
    await Promise.all(all);
  });

  it("what reads everything of an account is a scan", () => {
    const scans = createOperations(memoryPorts(), false).filter(({ isScan }) => isScan === true);
    const ids = scans.map(({ doc }) => doc.id);
    expect(ids).to.have.members(["getUsage", "estimateCampaign", "startCampaign"]);
  });
});
