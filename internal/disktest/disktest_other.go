//go:build !unix

package disktest

import "testing"

func available(t *testing.T) { t.Skip("skipped: this system can neither limit nor drop rights") }

func limited(*testing.T, int64) {}

func powerless(*testing.T) {}

func closed(*testing.T, string) {}
