import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Pattern;

/** Sends one message. Needs BASE_URL, API_KEY, SENDER_ID and TO in the environment. */
class Send {
    public static void main(String[] args) throws Exception {
        // Values that come from elsewhere belong through a JSON library, which the JDK lacks.
        var body = """
            {"to": "%s", "from": "%s", "body": "Your code is 123456"}
            """.formatted(System.getenv("TO"), System.getenv("SENDER_ID"));
        var request = HttpRequest.newBuilder(URI.create(System.getenv("BASE_URL") + "/v1/sms/messages"))
            .header("Authorization", "Bearer " + System.getenv("API_KEY"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();

        var response = HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
        if (response.statusCode() != 202) {
            System.err.println(response.body());
            System.exit(1);
        }
        System.out.println(member(response.body(), "id") + " " + member(response.body(), "status"));
    }

    static String member(String json, String name) {
        var match = Pattern.compile("\"" + name + "\":\"([^\"]*)\"").matcher(json);
        return match.find() ? match.group(1) : "";
    }
}
