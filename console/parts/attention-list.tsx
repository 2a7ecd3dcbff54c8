/** A problem in a sentence, and the page on which it is solved. */
export type Problem = { readonly text: string; readonly path: string };

/** The problems of an overview. */
export function AttentionList({
  title,
  problems,
}: {
  readonly title: string;
  readonly problems: readonly Problem[];
}) {
  return (
    <section class="warnings" aria-labelledby="attention">
      <h2 id="attention">{title}</h2>
      <ul>
        {problems.map(({ text, path }) => (
          <li key={`${path} ${text}`}>
            <a href={path}>{text}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}
