// Uses a client that openapi-generator has generated, and prints what it saw as one JSON object.
using System;
using System.Collections.Generic;
using System.Linq;
using Newtonsoft.Json;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Client;
using Org.OpenAPITools.Model;

static class Program
{
    static void Main()
    {
        var seen = new SortedDictionary<string, object>();
        var sending = new SendingApi(Connect("BASE_URL", "API_KEY"));
        var messages = new MessagesApi(Connect("BASE_URL", "API_KEY"));
        var sendAt = DateTime.UtcNow.AddHours(1);

        var message = sending.SendMessage(Send("Hello", sendAt: sendAt), "csharp-one").Data;
        seen["single"] = Word(message.Status);

        var bulk = new BulkSend(new List<string> { "+2348031234567", "not a number" }, "Acme", body: "Hello");
        seen["bulk"] = sending.SendBulk(bulk).Data.Messages
            .Select(entry => Word(entry.Status) + (entry.Error == null ? "" : " " + entry.Error.Code));

        var scheduled = messages.ListMessages(new List<MessageStatus> { MessageStatus.Scheduled }).Data;
        seen["list"] = scheduled[0].Id == message.Id;
        seen["history"] = Word(messages.GetMessage(message.Id).Data.StatusHistory[0].Status);
        seen["cancelled"] = messages.CancelMessage(message.Id).Data.Error.Code;

        seen["unauthenticated"] = Describe(ProblemOf(Balance("BASE_URL", "WRONG_KEY")));

        var poor = new SendingApi(Connect("BASE_URL", "POOR_KEY"));
        var refused = Refusal(() => poor.SendMessage(Send("Hello", sendAt: sendAt)));
        var money = JsonConvert.DeserializeObject<InsufficientBalanceProblem>((string)refused.ErrorContent);
        seen["insufficientBalance"] =
            $"{money.Status} {money.Code} {money.AvailableAmount} of {money.RequiredAmount} {money.Currency}";

        seen["conflict"] = Describe(ProblemOf(Refusal(() => sending.SendMessage(Send("Another text"), "csharp-one"))));

        var invalid = ProblemOf(Refusal(() => sending.SendMessage(Send("Hello", "not a number"))));
        seen["invalid"] = $"{Describe(invalid)} {invalid.Errors[0].Field} {invalid.Errors[0].Code}";

        var limited = new BalanceApi(Connect("BASE_URL", "LIMITED_KEY"));
        for (var tries = 0; tries < 5; tries++)
        {
            try
            {
                limited.GetBalance();
            }
            catch (ApiException limit)
            {
                seen["rateLimited"] = $"{Describe(ProblemOf(limit))} {limit.Headers["Retry-After"][0]}";
                break;
            }
        }

        var future = new MessagesApi(Connect("FUTURE_URL", "API_KEY"));
        var later = future.GetMessage(message.Id).Data;
        seen["future"] = $"{later.Source} {later.Channel} {later.Encoding}";
        seen["futureList"] = future.ListMessages().Data[0].Source;
        seen["futureCode"] = Describe(ProblemOf(Balance("FUTURE_URL", "WRONG_KEY")));

        Console.WriteLine(JsonConvert.SerializeObject(seen));
    }

    static Configuration Connect(string url, string key) => new Configuration
    {
        BasePath = Environment.GetEnvironmentVariable(url),
        AccessToken = Environment.GetEnvironmentVariable(key),
    };

    static SingleSend Send(string body, string to = "+2348031234567", DateTime? sendAt = null) =>
        new SingleSend(to, "Acme", body: body, sendAt: sendAt);

    static ApiException Balance(string url, string key) =>
        Refusal(() => new BalanceApi(Connect(url, key)).GetBalance());

    static ApiException Refusal(Action call)
    {
        try
        {
            call();
        }
        catch (ApiException refused)
        {
            return refused;
        }
        throw new InvalidOperationException("not refused");
    }

    static Problem ProblemOf(ApiException refused) =>
        JsonConvert.DeserializeObject<Problem>((string)refused.ErrorContent);

    static string Describe(Problem problem) => $"{problem.Status} {problem.Code}";

    /// The word of an enumeration as it is in JSON.
    static string Word(object value) => JsonConvert.SerializeObject(value).Trim('"');
}
