import { Empty, PageTitle } from "../parts/basics.tsx";

export function NotFoundPage() {
  return (
    <>
      <PageTitle>Page not found</PageTitle>
      <Empty title="There is no such page.">
        <a href="/console">Go to the overview</a>
      </Empty>
    </>
  );
}
