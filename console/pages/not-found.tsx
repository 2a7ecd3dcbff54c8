import { ROOT } from "../core/console-path.ts";
import { Empty, PageTitle } from "../parts/common-parts.tsx";

export function NotFoundPage() {
  return (
    <>
      <PageTitle>Page not found</PageTitle>
      <Empty title="There is no such page.">
        <a href={ROOT}>Go to the overview</a>
      </Empty>
    </>
  );
}
