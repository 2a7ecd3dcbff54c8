/** The sections of the navigation, in order. */
export const SECTIONS = [
  "Start",
  "Messages",
  "Events",
  "Reliability",
  "Tools",
  "Internal systems",
  "Samples",
  "Error codes",
] as const;

export type Section = (typeof SECTIONS)[number];

/** A page of the documentation as Markdown. It is served at its path, and as Markdown at the path plus `.md`. */
export type DocPage = {
  /** Begins with a slash, relative to the documentation's address; `/` is the first page. */
  readonly path: string;
  readonly title: string;
  /** One sentence, Markdown without links: shown below the title, in llms.txt and to search engines. */
  readonly description: string;
  readonly section: Section;
  /** Position in its section. */
  readonly order: number;
  /** Links to other pages are relative and end with `.md`. */
  readonly markdown: string;
};
