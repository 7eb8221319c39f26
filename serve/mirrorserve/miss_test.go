package mirrorserve_test

import "testing"

// TestMiss: a client asks for an archive that the cache does not have. .ci/miss lists the files that this runs through.
func TestMiss(t *testing.T) {
	_, src := newRegistry(t)
	h, _, dir := newCache(t, src)
	if got, want := mustFetch(t, h, archive(v1, linux)), read(t, dir, archive(v1, linux)); got != want {
		t.Errorf("the client got %d bytes, want the %d that are in the mirror", len(got), len(want))
	}
}
