import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.regex.Pattern;

/**
 * Sends one message exactly once, through errors and lost responses: every attempt carries the same
 * Idempotency-Key. Gives up after an hour, long before the key is forgotten (24 hours): look for the
 * message then, before it is sent again. Needs BASE_URL, API_KEY, SENDER_ID, TO and IDEMPOTENCY_KEY
 * in the environment.
 */
class RetrySafely {
    public static void main(String[] args) throws Exception {
        var key = System.getenv("IDEMPOTENCY_KEY");
        if (key == null || key.isEmpty()) throw new IllegalStateException("IDEMPOTENCY_KEY is not set");
        // Values that come from elsewhere belong through a JSON library, which the JDK lacks.
        var body = """
            {"to": "%s", "from": "%s", "body": "Your code is 123456"}
            """.formatted(System.getenv("TO"), System.getenv("SENDER_ID"));
        var request = HttpRequest.newBuilder(URI.create(System.getenv("BASE_URL") + "/v1/sms/messages"))
            .timeout(Duration.ofSeconds(30))
            .header("Authorization", "Bearer " + System.getenv("API_KEY"))
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key)
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        var client = HttpClient.newHttpClient();
        var giveUpAt = System.nanoTime() + Duration.ofHours(1).toNanos();

        for (long backOff = 1; System.nanoTime() < giveUpAt; backOff = Math.min(60, backOff * 2)) {
            long wait = backOff;
            try {
                var response = client.send(request, BodyHandlers.ofString());
                var text = response.body();
                if (response.statusCode() == 202) {
                    System.out.println(member(text, "id") + " " + member(text, "status"));
                    return;
                }
                if (!isWorthAnother(response.statusCode(), text)) {
                    System.err.println(text);
                    System.exit(1);
                }
                // A proxy may name a date, which is not worth reading.
                var seconds = response.headers().firstValue("Retry-After").orElse("");
                wait = seconds.matches("[1-9][0-9]{0,4}") ? Long.parseLong(seconds) : backOff;
            } catch (IOException noAnswer) {
                // The message may have been accepted; the key makes asking again safe.
            }
            Thread.sleep(wait * 1000);
        }
        System.err.println("no answer within an hour: look for the message before sending it again");
        System.exit(1);
    }

    /** A proxy on the way may answer 502, 503 or 504, and not in JSON. Of 409 only conflict passes by itself. */
    static boolean isWorthAnother(int status, String text) {
        if (status == 409) return member(text, "code").equals("conflict");
        return status == 408 || status == 429 || status >= 500;
    }

    static String member(String json, String name) {
        var match = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(json);
        return match.find() ? match.group(1) : "";
    }
}
