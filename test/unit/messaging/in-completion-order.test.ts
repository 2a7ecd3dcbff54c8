import { expect } from "chai";
import { inCompletionOrder } from "../../../services/messaging/app/in-completion-order.ts";

describe("things that end one after the other", () => {
  const begun = (count: number) =>
    Array.from({ length: count }, () => Promise.withResolvers<string>());

  it("are answered in the order in which they end, those of one moment together", async () => {
    const some = begun(4);
    const groups = inCompletionOrder(some.map(({ promise }) => promise));
    const first = groups.next();
    some[2]?.resolve("c");
    some[0]?.resolve("a");
    expect((await first).value).to.deep.equal([
      { at: 2, value: "c" },
      { at: 0, value: "a" },
    ]);
    some[3]?.resolve("d");
    expect((await groups.next()).value).to.deep.equal([{ at: 3, value: "d" }]);
    const last = groups.next();
    some[1]?.resolve("b");
    expect((await last).value).to.deep.equal([{ at: 1, value: "b" }]);
    expect(await groups.next()).to.deep.equal({ done: true, value: undefined });
  });

  it("that had ended before are there at once, and none at all is an end", async () => {
    const all = [];
    for await (const group of inCompletionOrder([Promise.resolve(1), Promise.resolve(2)]))
      all.push(group);
    expect(all.flat()).to.deep.equal([
      { at: 0, value: 1 },
      { at: 1, value: 2 },
    ]);
    for await (const group of inCompletionOrder([])) expect.fail(`${group.length} of nothing`);
  });

  it("end with the first that rejects", async () => {
    const [one, other] = begun(2);
    const groups = inCompletionOrder(
      [one, other].map((each) => (each as typeof one & object).promise),
    );
    const next = groups.next().then(
      () => "a group",
      (error: Error) => error.message,
    );
    other?.reject(new Error("broken"));
    expect(await next).to.equal("broken");
  });
});
