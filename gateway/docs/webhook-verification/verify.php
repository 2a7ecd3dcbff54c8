<?php

declare(strict_types=1);

const TOLERANCE_S = 300;

/** True when the header signs these raw bytes with the secret, now. Read php://input before parsing it. */
function is_genuine(?string $header, string $rawBody, string $secret, ?float $nowS = null): bool
{
    $t = null;
    $given = [];
    foreach (explode(',', $header ?? '') as $part) {
        [$key, $value] = explode('=', $part, 2) + [1 => ''];
        if ($key === 't' && $t === null) {
            $t = $value;
        } elseif ($key === 'v1') {
            $given[] = $value;
        }
    }
    if ($t === null || preg_match('/^\d{1,12}$/D', $t) !== 1) {
        return false;
    }
    if (abs(($nowS ?? microtime(true)) - (int) $t) > TOLERANCE_S) {
        return false;
    }
    $wanted = hash_hmac('sha256', $t . '.' . $rawBody, $secret);
    foreach ($given as $value) {
        if (hash_equals($wanted, $value)) {
            return true;
        }
    }
    return false;
}
