// Uses a client that openapi-generator has generated, and prints what it saw as one JSON object.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.BalanceApi;
import org.openapitools.client.api.MessagesApi;
import org.openapitools.client.api.SendingApi;
import org.openapitools.client.model.BulkSend;
import org.openapitools.client.model.InsufficientBalanceProblem;
import org.openapitools.client.model.Message;
import org.openapitools.client.model.MessageStatus;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.SingleSend;

class Client {
  private static final ObjectMapper JSON = ApiClient.createDefaultObjectMapper();

  interface Call {
    Object run() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Map<String, Object> seen = new TreeMap<>();
    ApiClient api = connect("BASE_URL", "API_KEY");
    SendingApi sending = new SendingApi(api);
    MessagesApi messages = new MessagesApi(api);
    SingleSend single = send("Hello").sendAt(OffsetDateTime.now().plusHours(1));

    Message message = sending.sendMessage(single, "java-one").getData();
    seen.put("single", message.getStatus().getValue());

    BulkSend bulk = new BulkSend().from("Acme").body("Hello").to(List.of("+2348031234567", "not a number"));
    seen.put("bulk", sending.sendBulk(bulk, null).getData().getMessages().stream()
        .map(entry -> entry.getStatus().getValue()
            + (entry.getError() == null ? "" : " " + entry.getError().getCode()))
        .toList());

    List<Message> scheduled = list(messages, List.of(MessageStatus.SCHEDULED));
    seen.put("list", scheduled.get(0).getId().equals(message.getId()));
    seen.put("history", messages.getMessage(message.getId()).getData()
        .getStatusHistory().get(0).getStatus().getValue());
    seen.put("cancelled", messages.cancelMessage(message.getId(), null, null).getData().getError().getCode());

    seen.put("unauthenticated", describe(problem(balance("BASE_URL", "WRONG_KEY"))));

    ApiException poor = refusal(() -> new SendingApi(connect("BASE_URL", "POOR_KEY")).sendMessage(single, null));
    InsufficientBalanceProblem money = JSON.readValue(poor.getResponseBody(), InsufficientBalanceProblem.class);
    seen.put("insufficientBalance", money.getStatus() + " " + money.getCode() + " " + money.getAvailableAmount()
        + " of " + money.getRequiredAmount() + " " + money.getCurrency());

    seen.put("conflict", describe(problem(refusal(() -> sending.sendMessage(send("Another text"), "java-one")))));

    Problem invalid = problem(refusal(() -> sending.sendMessage(send("Hello").to("not a number"), null)));
    seen.put("invalid", describe(invalid) + " " + invalid.getErrors().get(0).getField()
        + " " + invalid.getErrors().get(0).getCode());

    BalanceApi limited = new BalanceApi(connect("BASE_URL", "LIMITED_KEY"));
    for (int tries = 0; tries < 5; tries++) {
      try {
        limited.getBalance();
      } catch (ApiException refused) {
        String after = refused.getResponseHeaders().firstValue("retry-after").orElse("");
        seen.put("rateLimited", describe(problem(refused)) + " " + after);
        break;
      }
    }

    MessagesApi future = new MessagesApi(connect("FUTURE_URL", "API_KEY"));
    var later = future.getMessage(message.getId()).getData();
    seen.put("future", later.getSource() + " " + later.getChannel() + " " + later.getEncoding());
    seen.put("futureList", list(future, null).get(0).getSource());
    seen.put("futureCode", describe(problem(balance("FUTURE_URL", "WRONG_KEY"))));

    System.out.println(JSON.writeValueAsString(seen));
  }

  private static SingleSend send(String body) {
    return new SingleSend().to("+2348031234567").from("Acme").body(body);
  }

  private static List<Message> list(MessagesApi messages, List<MessageStatus> statuses) throws ApiException {
    return messages.listMessages(statuses, null, null, null, null, null, null, null, null, null).getData();
  }

  private static ApiException balance(String url, String key) throws Exception {
    return refusal(() -> new BalanceApi(connect(url, key)).getBalance());
  }

  private static ApiClient connect(String url, String key) {
    URI address = URI.create(System.getenv(url));
    ApiClient client = new ApiClient();
    client.setScheme(address.getScheme());
    client.setHost(address.getHost());
    client.setPort(address.getPort());
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + System.getenv(key)));
    return client;
  }

  private static ApiException refusal(Call call) throws Exception {
    try {
      throw new IllegalStateException("not refused: " + call.run());
    } catch (ApiException refused) {
      return refused;
    }
  }

  private static Problem problem(ApiException refused) throws Exception {
    return JSON.readValue(refused.getResponseBody(), Problem.class);
  }

  private static String describe(Problem problem) {
    return problem.getStatus() + " " + problem.getCode();
  }
}
