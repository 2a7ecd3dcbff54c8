/** The text of each row, expanded from the campaign's body. */
import type { Campaign } from "../domain/campaign.ts";
import type { Row, RowError } from "../domain/row.ts";
import { expandTemplate, parseTemplate, type Template } from "../domain/template.ts";
import type { RecipientText } from "./ports.ts";

/** The body of a campaign that has passed its checks. */
export function templateOf({ content }: Campaign): Template {
  const template = parseTemplate(content.body);
  if ("fault" in template) throw new Error(`a stored body has a malformed placeholder`);
  return template;
}

/** The text for one row, or the error of a row that has none. */
export function personalise(
  campaign: Campaign,
  template: Template,
  row: Pick<Row, "to" | "variables" | "clientReference">,
): RecipientText | { readonly error: RowError } {
  const expanded = expandTemplate(template, row.variables);
  if ("missing" in expanded) {
    const message = `The row has no value for {{${expanded.missing}}}.`;
    return { error: { code: "missing_variable", message } };
  }
  if (expanded.body === "") {
    return { error: { code: "empty_body", message: "The text of this row is empty." } };
  }
  return {
    to: row.to,
    body: expanded.body,
    clientReference: row.clientReference ?? campaign.content.clientReference,
  };
}
