<?php

declare(strict_types=1);

const TOLERANCE_S = 300;

/** True when the header signs these raw bytes with the secret, now. Read php://input before parsing it. */
function is_genuine(?string $header, string $rawBody, string $secret, ?float $nowS = null): bool
{
    $t = null;
    $given = [];
    foreach (explode(',', $header ?? '') as $part) {
        $pair = explode('=', $part, 2);
        if (count($pair) !== 2) {
            continue;
        }
        if ($pair[0] === 't' && $t === null) {
            $t = $pair[1];
        } elseif ($pair[0] === 'v1') {
            $given[] = $pair[1];
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
