//go:build !linux

package bench

import "time"

var started = time.Now()

func now() (time.Duration, error) { return time.Since(started), nil }
