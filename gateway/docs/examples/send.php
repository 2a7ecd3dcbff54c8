<?php
// Sends one message. Needs BASE_URL, API_KEY, SENDER_ID and TO in the environment.
declare(strict_types=1);

$request = curl_init(getenv('BASE_URL') . '/v1/sms/messages');
curl_setopt_array($request, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_TIMEOUT => 30,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('API_KEY'),
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => json_encode([
        'to' => getenv('TO'),
        'from' => getenv('SENDER_ID'),
        'body' => 'Your code is 123456',
    ], JSON_THROW_ON_ERROR),
]);
$text = curl_exec($request);

if ($text === false || curl_getinfo($request, CURLINFO_RESPONSE_CODE) !== 202) {
    fwrite(STDERR, ($text === false ? curl_error($request) : $text) . "\n");
    exit(1);
}
$message = json_decode($text, true, flags: JSON_THROW_ON_ERROR)['data'];
echo $message['id'], ' ', $message['status'], "\n";
