import { ROOT } from "../core/place.ts";
import { Empty, PageTitle } from "../parts/basics.tsx";

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
