// Who is not the gate is turned away (L1). See docs/origin.md for what is signed.

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

/** Lets only calls through that carry a valid {@code Oncegate-Signature}. */
@Component
public class GateSignature extends OncePerRequestFilter {
  private static final long CLOCK_TOLERANCE_MS = 5 * 60 * 1000;
  private static final Pattern FORM = Pattern.compile("t=(\\d{1,16}), kid=([^,]+), v1=([0-9a-f]{64})");
  private static final List<String> SIGNED =
      List.of("Idempotency-Key", "Oncegate-Attempt", "Oncegate-Operation", "Oncegate-Key-Kind", "Oncegate-Fingerprint");

  private final Map<String, String> secrets;

  /** What the gate has as SIGNING_SECRETS: {@code name=secret,name=secret}. */
  public GateSignature(@Value("${oncegate.signing-secrets}") String secrets) {
    this.secrets = Stream.of(secrets.split(","))
        .map(entry -> entry.trim().split("=", 2))
        .collect(Collectors.toMap(entry -> entry[0], entry -> entry[1]));
  }

  @Override
  protected boolean shouldNotFilter(HttpServletRequest request) {
    String path = request.getRequestURI();
    return !path.equals("/payments") && !path.startsWith("/.oncegate/ledger/");
  }

  @Override
  protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
      throws ServletException, IOException {
    if (isSigned(request)) {
      chain.doFilter(request, response);
    } else {
      response.setStatus(HttpServletResponse.SC_UNAUTHORIZED);
    }
  }

  private boolean isSigned(HttpServletRequest request) {
    Matcher form = FORM.matcher(once(request, "Oncegate-Signature"));
    if (!form.matches() || !secrets.containsKey(form.group(2))) return false;
    if (Math.abs(System.currentTimeMillis() - Long.parseLong(form.group(1))) > CLOCK_TOLERANCE_MS) return false;
    String query = request.getQueryString() == null ? "" : "?" + request.getQueryString();
    String text = Stream.concat(
            Stream.of("oncegate-signature-v1", form.group(1), request.getMethod(), request.getRequestURI() + query),
            SIGNED.stream().map(name -> once(request, name)))
        .collect(Collectors.joining("\n"));
    return MessageDigest.isEqual(mac(secrets.get(form.group(2)), text), HexFormat.of().parseHex(form.group(3)));
  }

  /** A header field's value; a field that came twice makes the signature wrong. */
  private static String once(HttpServletRequest request, String name) {
    List<String> values = Collections.list(request.getHeaders(name));
    return values.isEmpty() ? "" : values.size() == 1 ? values.get(0) : "\n";
  }

  private static byte[] mac(String secret, String text) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
      return mac.doFinal(text.getBytes(StandardCharsets.ISO_8859_1));
    } catch (GeneralSecurityException missing) {
      throw new IllegalStateException("every Java has HMAC-SHA-256", missing);
    }
  }
}
