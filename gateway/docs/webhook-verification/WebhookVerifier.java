import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Checks that a webhook request is genuine. */
public final class WebhookVerifier {
  private static final long TOLERANCE_S = 300;

  private WebhookVerifier() {}

  /** True when there is a header that signs these raw bytes with the secret, now. Read the body before parsing it. */
  public static boolean isGenuine(String header, byte[] rawBody, String secret, double nowS)
      throws GeneralSecurityException {
    String t = null;
    List<String> given = new ArrayList<>();
    for (String part : (header == null ? "" : header).split(",")) {
      String[] pair = part.split("=", 2);
      if (pair.length != 2) continue;
      if (pair[0].equals("t") && t == null) t = pair[1];
      if (pair[0].equals("v1")) given.add(pair[1]);
    }
    if (t == null || !t.matches("[0-9]{1,12}")) return false;
    if (Math.abs(nowS - Long.parseLong(t)) > TOLERANCE_S) return false;
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    mac.update((t + ".").getBytes(StandardCharsets.UTF_8));
    byte[] wanted = HexFormat.of().formatHex(mac.doFinal(rawBody)).getBytes(StandardCharsets.UTF_8);
    return given.stream()
        .anyMatch(value -> MessageDigest.isEqual(value.getBytes(StandardCharsets.UTF_8), wanted));
  }
}
