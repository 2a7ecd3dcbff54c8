import { render } from "preact";
import { Route, Router } from "preact-iso";
import { session } from "./api/console.ts";
import { SessionContext } from "./core/session-context.ts";
import { AccountPage } from "./pages/account.tsx";
import { AuditPage } from "./pages/audit.tsx";
import { CampaignPage } from "./pages/campaign.tsx";
import { CampaignsPage } from "./pages/campaigns.tsx";
import { InboundPage } from "./pages/inbound.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { MessagePage } from "./pages/message.tsx";
import { MessagesPage } from "./pages/messages.tsx";
import { NewCampaignPage } from "./pages/new-campaign.tsx";
import { NotFoundPage } from "./pages/not-found.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { PeoplePage } from "./pages/people.tsx";
import { QuickSendPage } from "./pages/quick-send.tsx";
import { SenderIdsPage } from "./pages/sender-ids.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { StatementPage } from "./pages/statement.tsx";
import { SuppressionsPage } from "./pages/suppressions.tsx";
import { UsagePage } from "./pages/usage.tsx";
import { WebhookPage } from "./pages/webhook.tsx";
import { WebhooksPage } from "./pages/webhooks.tsx";
import { App } from "./parts/app.tsx";
import { Layout } from "./parts/layout.tsx";
import { SecondFactorSection } from "./parts/second-factor.tsx";
import { SessionsPage } from "./parts/sessions.tsx";

function Pages() {
  return (
    <Layout>
      <Router>
        <Route path="/console" component={OverviewPage} />
        <Route path="/console/send" component={QuickSendPage} />
        <Route path="/console/messages" component={MessagesPage} />
        <Route path="/console/messages/:id" component={MessagePage} />
        <Route path="/console/campaigns" component={CampaignsPage} />
        <Route path="/console/campaigns/new" component={NewCampaignPage} />
        <Route path="/console/campaigns/:id" component={CampaignPage} />
        <Route path="/console/inbound" component={InboundPage} />
        <Route path="/console/suppressions" component={SuppressionsPage} />
        <Route path="/console/sender-ids" component={SenderIdsPage} />
        <Route path="/console/webhooks" component={WebhooksPage} />
        <Route path="/console/webhooks/:id" component={WebhookPage} />
        <Route path="/console/people" component={PeoplePage} />
        <Route path="/console/sessions" component={OwnSessions} />
        <Route path="/console/account" component={AccountPage} />
        <Route path="/console/audit" component={AuditPage} />
        <Route path="/console/keys" component={KeysPage} />
        <Route path="/console/statement" component={StatementPage} />
        <Route path="/console/usage" component={UsagePage} />
        <Route default component={NotFoundPage} />
      </Router>
    </Layout>
  );
}

function OwnSessions() {
  return (
    <>
      <SessionsPage list={session.list} end={session.endOther} />
      <SecondFactorSection />
    </>
  );
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
