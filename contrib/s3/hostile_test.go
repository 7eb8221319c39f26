package s3_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tofureg/tofureg/contrib/s3"
)

// hostile returns a store in a server with these answers.
func hostile(t *testing.T, answer http.HandlerFunc) *s3.Store {
	t.Helper()
	s := httptest.NewTLSServer(answer)
	t.Cleanup(s.Close)
	return &s3.Store{Bucket: "mirror", Client: awss3.New(awss3.Options{
		Region: "us-east-1", BaseEndpoint: &s.URL, UsePathStyle: true, HTTPClient: s.Client(), Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("id", "s3cr3t", ""),
	})}
}

// TestLifetime: a URL is never valid for longer than its caller wants.
func TestLifetime(t *testing.T) {
	t.Parallel()
	store := hostile(t, http.NotFound)
	const longest = 7 * 24 * time.Hour
	for lifetime, ok := range map[time.Duration]bool{
		-time.Hour: false, 0: false, time.Second - 1: false, time.Second: true, longest: true, longest + 1: false,
	} {
		if link, err := store.URL(t.Context(), "a.json", lifetime); (err == nil) != ok {
			t.Errorf("URL for %v: %q, %v, want success: %v", lifetime, link, err, ok)
		}
	}
}

// TestFailureIsNotMissing: a server that fails does not say that an object is missing, whatever code it names, so Delete
// has not removed it.
func TestFailureIsNotMissing(t *testing.T) {
	t.Parallel()
	store := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
	})
	if err := store.Delete(t.Context(), "a.json"); err == nil {
		t.Error("Delete with an answer of status 500 and code NoSuchKey: nil, want an error")
	}
	if _, err := store.Open(t.Context(), "a.json"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open with an answer of status 500 and code NoSuchKey: %v, want an error other than ErrNotExist", err)
	}
}

// TestStatus: no other status than 200 means that an object is written, or is whole.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 201, 202, 204, 206} {
		store := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", "bytes 0-0/10")
			w.WriteHeader(status)
			if status != http.StatusNoContent {
				_, _ = io.WriteString(w, "0")
			}
		})
		content := io.NewSectionReader(strings.NewReader("x"), 0, 1)
		if err := store.Write(t.Context(), "a.json", content, ""); (err == nil) != (status == 200) {
			t.Errorf("Write with an answer of status %d: %v", status, err)
		}
		f, err := store.Open(t.Context(), "a.json")
		if err == nil {
			f.Close()
		}
		if (err == nil) != (status == 200) {
			t.Errorf("Open with an answer of status %d: %v", status, err)
		}
	}
}
