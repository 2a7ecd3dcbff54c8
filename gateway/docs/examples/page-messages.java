import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * Lists the ids of all messages of a time span, page by page. Both bounds are sent, so that no
 * message is missed or shown twice while new ones arrive. Needs BASE_URL, API_KEY, CREATED_AFTER
 * and CREATED_BEFORE in the environment.
 */
class PageMessages {
    static final Pattern ID = Pattern.compile("\"id\":\"(msg_[^\"]*)\"");
    static final Pattern NEXT_CURSOR = Pattern.compile("\"next_cursor\":\"([^\"]*)\"");

    public static void main(String[] args) throws Exception {
        var client = HttpClient.newHttpClient();
        var limit = System.getenv().getOrDefault("LIMIT", "100");
        var query = "?created_after=" + encode(System.getenv("CREATED_AFTER"))
            + "&created_before=" + encode(System.getenv("CREATED_BEFORE")) + "&limit=" + limit;
        var cursor = "";
        while (true) {
            var address = System.getenv("BASE_URL") + "/v1/messages" + query + cursor;
            var request = HttpRequest.newBuilder(URI.create(address))
                .header("Authorization", "Bearer " + System.getenv("API_KEY"))
                .build();
            var response = client.send(request, BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                System.err.println(response.body());
                System.exit(1);
            }
            ID.matcher(response.body()).results().forEach(id -> System.out.println(id.group(1)));
            var next = NEXT_CURSOR.matcher(response.body());
            if (!next.find()) return;
            cursor = "&cursor=" + encode(next.group(1));
        }
    }

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
