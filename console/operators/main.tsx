import { render } from "preact";
import { Route, Router } from "preact-iso";
import { NotFoundPage } from "../pages/not-found.tsx";
import { App } from "../parts/app.tsx";
import { SessionsPage } from "../parts/sessions.tsx";
import { session } from "./api/session.ts";
import { SessionContext } from "./core/session-context.ts";
import { AuditPage } from "./pages/audit.tsx";
import { ChecksPage } from "./pages/checks.tsx";
import { ConnectorsPage } from "./pages/connectors.tsx";
import { ExplainPage } from "./pages/explain.tsx";
import { FundingsPage } from "./pages/fundings.tsx";
import { MessagePage } from "./pages/message.tsx";
import { MessagesPage } from "./pages/messages.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { PeoplePage } from "./pages/people.tsx";
import { PutAsidePage } from "./pages/put-aside.tsx";
import { RoutesPage } from "./pages/routes.tsx";
import { SenderIdsPage } from "./pages/sender-ids.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { TenantPage } from "./pages/tenant.tsx";
import { TenantsPage } from "./pages/tenants.tsx";
import { Layout } from "./parts/layout.tsx";

function Pages() {
  return (
    <Layout>
      <Router>
        <Route path="/operators" component={OverviewPage} />
        <Route path="/operators/tenants" component={TenantsPage} />
        <Route path="/operators/tenants/:id" component={TenantPage} />
        <Route path="/operators/sender-ids" component={SenderIdsPage} />
        <Route path="/operators/fundings" component={FundingsPage} />
        <Route path="/operators/messages" component={MessagesPage} />
        <Route path="/operators/messages/:id" component={MessagePage} />
        <Route path="/operators/explain" component={ExplainPage} />
        <Route path="/operators/connectors" component={ConnectorsPage} />
        <Route path="/operators/routes" component={RoutesPage} />
        <Route path="/operators/put-aside" component={PutAsidePage} />
        <Route path="/operators/checks" component={ChecksPage} />
        <Route path="/operators/audit" component={AuditPage} />
        <Route path="/operators/people" component={PeoplePage} />
        <Route path="/operators/sessions" component={OwnSessions} />
        <Route default component={NotFoundPage} />
      </Router>
    </Layout>
  );
}

function OwnSessions() {
  return <SessionsPage list={session.list} end={session.endOther} />;
}

const place = document.getElementById("app");
if (place !== null) {
  render(
    <App
      SignIn={SignInPage}
      Pages={Pages}
      Session={SessionContext}
      loadSession={(signal) => session.own(signal)}
    />,
    place,
  );
}
