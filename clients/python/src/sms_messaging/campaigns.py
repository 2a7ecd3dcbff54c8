"""Campaigns: one text with placeholders to many recipients."""

from __future__ import annotations

from typing import Unpack, cast

from . import types as t
from .lists import List
from .resources import _DEFAULT, _members, _Resource
from .transport import Options


class Campaigns(_Resource):
    """Drafts, their recipients, and running campaigns."""

    def list(
        self, *, options: Options = _DEFAULT, **query: Unpack[t.ListCampaignsQuery]
    ) -> List[t.ListCampaignsEntry]:
        """Newest first."""
        return List(self._transport, "listCampaigns", options, query=_members(query))

    def create(
        self, *, options: Options = _DEFAULT, **body: Unpack[t.CreateCampaignBody]
    ) -> t.CreateCampaignData:
        """Creates a draft."""
        answer = self._data("createCampaign", options, body=_members(body))
        return cast(t.CreateCampaignData, answer)

    def get(self, campaign_id: str, *, options: Options = _DEFAULT) -> t.GetCampaignData:
        """One campaign with its progress."""
        path = {"campaign_id": campaign_id}
        return cast(t.GetCampaignData, self._data("getCampaign", options, path=path))

    def update(
        self,
        campaign_id: str,
        *,
        options: Options = _DEFAULT,
        **body: Unpack[t.UpdateCampaignBody],
    ) -> t.UpdateCampaignData:
        """Changes a draft; absent members keep their value."""
        path = {"campaign_id": campaign_id}
        answer = self._data("updateCampaign", options, path=path, body=_members(body))
        return cast(t.UpdateCampaignData, answer)

    def delete(self, campaign_id: str, *, options: Options = _DEFAULT) -> None:
        """Deletes a draft."""
        self._transport.call("deleteCampaign", options, path={"campaign_id": campaign_id})

    def add_recipients(
        self,
        campaign_id: str,
        *,
        options: Options = _DEFAULT,
        **body: Unpack[t.AddCampaignRecipientsBody],
    ) -> t.AddCampaignRecipientsData:
        """Adds up to 1,000 recipients to a draft."""
        path = {"campaign_id": campaign_id}
        answer = self._data("addCampaignRecipients", options, path=path, body=_members(body))
        return cast(t.AddCampaignRecipientsData, answer)

    def add_recipients_csv(
        self, campaign_id: str, file: str | bytes, *, options: Options = _DEFAULT
    ) -> t.AddCampaignRecipientsData:
        """Adds the rows of a CSV file whose header names `to`; other columns are variables."""
        path = {"campaign_id": campaign_id}
        answer = self._data("addCampaignRecipients", options, path=path, file=file)
        return cast(t.AddCampaignRecipientsData, answer)

    def list_recipients(
        self,
        campaign_id: str,
        *,
        options: Options = _DEFAULT,
        **query: Unpack[t.ListCampaignRecipientsQuery],
    ) -> List[t.ListCampaignRecipientsEntry]:
        """In the order of their addition. `csv_pages()` of the list gives CSV files."""
        path = {"campaign_id": campaign_id}
        members = _members(query)
        return List(self._transport, "listCampaignRecipients", options, path=path, query=members)

    def remove_recipients(
        self, campaign_id: str, *, options: Options = _DEFAULT
    ) -> t.RemoveCampaignRecipientsData:
        """Removes all recipients of a draft."""
        path = {"campaign_id": campaign_id}
        answer = self._data("removeCampaignRecipients", options, path=path)
        return cast(t.RemoveCampaignRecipientsData, answer)

    def estimate(self, campaign_id: str, *, options: Options = _DEFAULT) -> t.EstimateCampaignData:
        """The most that it can cost."""
        path = {"campaign_id": campaign_id}
        return cast(t.EstimateCampaignData, self._data("estimateCampaign", options, path=path))

    def preview(
        self,
        campaign_id: str,
        *,
        options: Options = _DEFAULT,
        **body: Unpack[t.PreviewCampaignBody],
    ) -> t.PreviewCampaignData:
        """The texts of some rows."""
        path = {"campaign_id": campaign_id}
        answer = self._data("previewCampaign", options, path=path, body=_members(body))
        return cast(t.PreviewCampaignData, answer)

    def test(
        self,
        campaign_id: str,
        *,
        options: Options = _DEFAULT,
        **body: Unpack[t.TestCampaignBody],
    ) -> t.TestCampaignData:
        """Sends the text to at most 5 numbers of your own."""
        path = {"campaign_id": campaign_id}
        answer = self._data("testCampaign", options, path=path, body=_members(body))
        return cast(t.TestCampaignData, answer)

    def start(self, campaign_id: str, *, options: Options = _DEFAULT) -> t.StartCampaignData:
        """Starts it, at once or at its `send_at`."""
        path = {"campaign_id": campaign_id}
        return cast(t.StartCampaignData, self._data("startCampaign", options, path=path))

    def pause(self, campaign_id: str, *, options: Options = _DEFAULT) -> t.PauseCampaignData:
        """Queues nothing new, and takes back the queued messages."""
        path = {"campaign_id": campaign_id}
        return cast(t.PauseCampaignData, self._data("pauseCampaign", options, path=path))

    def resume(self, campaign_id: str, *, options: Options = _DEFAULT) -> t.ResumeCampaignData:
        """Goes on."""
        path = {"campaign_id": campaign_id}
        return cast(t.ResumeCampaignData, self._data("resumeCampaign", options, path=path))

    def cancel(self, campaign_id: str, *, options: Options = _DEFAULT) -> t.CancelCampaignData:
        """Ends it; messages that were sent stay sent."""
        path = {"campaign_id": campaign_id}
        return cast(t.CancelCampaignData, self._data("cancelCampaign", options, path=path))
