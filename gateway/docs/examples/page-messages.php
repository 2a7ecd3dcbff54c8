<?php
// Lists the ids of all messages of a time span, page by page. Both bounds are sent, so that no
// message is missed or shown twice while new ones arrive. Needs BASE_URL, API_KEY, CREATED_AFTER
// and CREATED_BEFORE in the environment.
declare(strict_types=1);

$query = [
    'created_after' => getenv('CREATED_AFTER'),
    'created_before' => getenv('CREATED_BEFORE'),
    'limit' => getenv('LIMIT') ?: '100',
];

do {
    $request = curl_init(getenv('BASE_URL') . '/v1/messages?' . http_build_query($query));
    curl_setopt_array($request, [
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 30,
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . getenv('API_KEY')],
    ]);
    $text = curl_exec($request);
    if ($text === false || curl_getinfo($request, CURLINFO_RESPONSE_CODE) !== 200) {
        fwrite(STDERR, ($text === false ? curl_error($request) : $text) . "\n");
        exit(1);
    }
    $page = json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    foreach ($page['data'] as $message) {
        echo $message['id'], "\n";
    }
    $query['cursor'] = $page['next_cursor'];
} while ($page['next_cursor'] !== null);
