package gcs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/contrib/gcs"
	"github.com/tofureg/tofureg/transport"
)

// TestIncompleteAnswers: an accepted write is not a write, and an object without a size is not an empty one.
func TestIncompleteAnswers(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
		}
		_, _ = io.WriteString(w, `{"generation":"5"}`)
	}))
	t.Cleanup(s.Close)
	store := &gcs.Store{Bucket: "mirror", Endpoint: s.URL, Transport: &transport.Settings{HTTP: s.Client(), Retries: -1}}
	if err := store.Write(t.Context(), "a.json", io.NewSectionReader(strings.NewReader("x"), 0, 1), ""); err == nil {
		t.Error("Write with an answer of status 202: nil, want an error")
	}
	if info, err := store.Stat(t.Context(), "a.json"); err == nil {
		t.Errorf("Stat with an answer without a size: %v, want an error", info)
	}
}
