/** The file of profiles, and which account a command uses. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect } from "chai";
import { chooseAccount } from "../../../clients/cli/calls/account.ts";
import { profilePath, readProfiles, writeProfiles } from "../../../clients/cli/calls/profiles.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const LIVE = { base_url: "https://api.example.com", api_key: "sk_live_one" };
const TEST = { base_url: "https://test.example.com", api_key: "sk_test_two" };
const FILE = { current: "live", profiles: { live: LIVE, test: TEST } };
const NOTHING = { apiKey: undefined, baseUrl: undefined };

describe("the file of profiles", () => {
  const env = { XDG_CONFIG_HOME: temporaryFolder("cli") };

  it("is empty when there is none, and keeps what was written, for its owner only", () => {
    expect(readProfiles(env)).to.deep.equal({ current: undefined, profiles: {} });
    writeProfiles(env, FILE);
    expect(readProfiles(env)).to.deep.equal(FILE);
    expect(statSync(profilePath(env)).mode & 0o777).to.equal(0o600);
    expect(readdirSync(dirname(profilePath(env)))).to.deep.equal(["profiles.json"]);
  });

  it("a damaged profile file is reported without its contents", () => {
    writeFileSync(profilePath(env), '{"profiles": sk_live_secret');
    expect(messageOf(() => readProfiles(env)))
      .to.include("is no JSON")
      .and.not.include("sk_live_secret");
    expect(readFileSync(profilePath(env), "utf8")).to.include("sk_live_secret");
  });
});

describe("the account of a command", () => {
  const choose = (given: Partial<Parameters<typeof chooseAccount>[0]>, file = FILE) =>
    chooseAccount({ profile: undefined, baseUrl: undefined, env: NOTHING, ...given }, file);

  it("is the current profile, or the named one", () => {
    expect(choose({})).to.deep.equal(LIVE);
    expect(choose({ profile: "test" })).to.deep.equal(TEST);
    expect(() => choose({ profile: "none" })).to.throw(AppError, "There is no profile none");
  });

  it("the environment wins over the profile, and the option over both", () => {
    const env = { apiKey: "sk_test_env", baseUrl: "http://127.0.0.1:8080/" };
    expect(choose({ env })).to.deep.equal({
      api_key: "sk_test_env",
      base_url: "http://127.0.0.1:8080",
    });
    expect(choose({ env: { ...NOTHING, apiKey: "sk_test_env" } }).base_url).to.equal(LIVE.base_url);
    expect(choose({ baseUrl: "https://other.example.com", env }).base_url).to.equal(
      "https://other.example.com",
    );
  });

  it("--profile with a key in the environment is refused: one of them would be ignored", () => {
    const env = { ...NOTHING, apiKey: "sk_test_env" };
    expect(() => choose({ profile: "test", env })).to.throw(AppError, "SMS_API_KEY is set");
  });

  it("a missing or wrong key or address is reported, the key without its text", () => {
    const none = { current: undefined, profiles: {} } as unknown as typeof FILE;
    expect(() => choose({}, none)).to.throw(AppError, "sms login");
    const env = { ...NOTHING, apiKey: "sk_test_env" };
    expect(() => choose({ env }, none)).to.throw(AppError, "SMS_BASE_URL");
    expect(messageOf(() => choose({ env: { apiKey: "hunter2", baseUrl: "https://a.example" } })))
      .to.include("begins with sk_live_")
      .and.not.include("hunter2");
    expect(() => choose({ baseUrl: "ftp://a.example" })).to.throw(AppError, "is no address");
  });
});

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).to.be.instanceOf(AppError);
    return (error as AppError).message;
  }
  throw new Error("nothing was thrown");
}
