<?php
// Sends one message exactly once, through errors and lost responses: every attempt carries the same
// Idempotency-Key. Gives up after an hour, long before the key is forgotten (24 hours): look for the
// message then, before it is sent again. Needs BASE_URL, API_KEY, SENDER_ID, TO and IDEMPOTENCY_KEY
// in the environment.
declare(strict_types=1);

/** A proxy on the way may answer 502, 503 or 504, and not in JSON. Of 409 only conflict passes by itself. */
function isWorthAnother(int $status, string $text): bool
{
    if ($status === 409) {
        return (json_decode($text, true)['code'] ?? '') === 'conflict';
    }
    return $status === 408 || $status === 429 || $status >= 500;
}

/** One attempt: the accepted message, or how many seconds to wait (0: as the back-off says). */
function attempt(string $key): array|int
{
    $retryAfter = 0;
    $request = curl_init(getenv('BASE_URL') . '/v1/sms/messages');
    curl_setopt_array($request, [
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 30,
        CURLOPT_HTTPHEADER => [
            'Authorization: Bearer ' . getenv('API_KEY'),
            'Content-Type: application/json',
            'Idempotency-Key: ' . $key,
        ],
        CURLOPT_HEADERFUNCTION => function ($request, string $line) use (&$retryAfter): int {
            if (preg_match('/^retry-after:\s*(\d+)/i', $line, $match) === 1) {
                $retryAfter = (int) $match[1];
            }
            return strlen($line);
        },
        CURLOPT_POSTFIELDS => json_encode([
            'to' => getenv('TO'),
            'from' => getenv('SENDER_ID'),
            'body' => 'Your code is 123456',
        ], JSON_THROW_ON_ERROR),
    ]);
    $text = curl_exec($request);
    if ($text === false) {
        // No answer came. The message may have been accepted; the key makes asking again safe.
        return 0;
    }
    $status = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
    if ($status === 202) {
        return json_decode($text, true, flags: JSON_THROW_ON_ERROR)['data'];
    }
    if (!isWorthAnother($status, $text)) {
        giveUp($text);
    }
    return $retryAfter;
}

function giveUp(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}

// curl leaves out a header without a value, and a repeat without the key would be a second message.
$key = (string) getenv('IDEMPOTENCY_KEY');
if ($key === '') {
    giveUp('IDEMPOTENCY_KEY is not set');
}
$giveUpAt = time() + 3600;
for ($backOff = 1; time() < $giveUpAt; $backOff = min(60, $backOff * 2)) {
    $outcome = attempt($key);
    if (is_array($outcome)) {
        echo $outcome['id'], ' ', $outcome['status'], "\n";
        exit(0);
    }
    sleep($outcome > 0 ? $outcome : $backOff);
}
giveUp('no answer within an hour: look for the message before sending it again');
