package s3_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/failure"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/contrib/s3/internal/must"
	"github.com/tofureg/tofureg/transport"
)

const gatewayURL = "https://example.com"

// gateway runs the program versitygw (github.com/versity/versitygw/cmd/versitygw), a real S3 server, on a socket of
// its own, with files in a directory that supports extended attributes. The client sends requests for any host to it.
func gateway(t *testing.T, id, secret string) *http.Client {
	t.Helper()
	program, err := exec.LookPath("versitygw")
	if err != nil {
		t.Skip("skipped: versitygw is not installed")
	}
	pair := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(pair.Close)
	key := must.Get(x509.MarshalPKCS8PrivateKey(pair.TLS.Certificates[0].PrivateKey))(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(at("cert"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate().Raw}), 0o600),
		os.WriteFile(at("key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600),
		os.Mkdir(at("data"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var log strings.Builder
	cmd := exec.CommandContext(ctx, program, "--quiet", "-a", id, "-s", secret, "--cert", at("cert"), "--key", at("key"), "--port", at("s"),
		"posix", at("data"))
	cmd.Stdout, cmd.Stderr = &log, &log
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", at("s"))
	}
	for tick := time.Tick(20 * time.Millisecond); ; {
		conn, err := dial(t.Context(), "", "")
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-tick:
		case <-ended:
			t.Fatalf("versitygw: %s", &log)
		}
	}
	through := pair.Client().Transport.(*http.Transport).Clone()
	through.DialContext = dial
	return &http.Client{Transport: through}
}

// TestPublicBucketOfARealServer: the zero Fetcher, with a transport for the test, fetches archives and directories of a
// public bucket from a server that knows no other user than its owner.
func TestPublicBucketOfARealServer(t *testing.T) {
	t.Parallel()
	client := gateway(t, "owner", "s3cr3t-s3cr3t")
	endpoint, bucket := gatewayURL, "modules"
	signer := credentials.NewStaticCredentialsProvider("owner", "s3cr3t-s3cr3t", "")
	owner := awss3.New(awss3.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, UsePathStyle: true, HTTPClient: client,
		Credentials: signer,
	})
	_, err := owner.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &bucket})
	for key, text := range map[string]string{"a b+c/ö.zip": moduleZip(t, map[string]string{"main.tf": "# main"}), "dir/main.tf": "# main", "dir/sub/x y.tf": "#"} {
		if err == nil {
			_, err = owner.PutObject(t.Context(), &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)})
		}
	}
	must.Do(t, err)
	public := &s3.Fetcher{Hosts: func(string) error { return nil }, Transport: &transport.Settings{HTTP: client, Retries: -1}}
	private := &s3.Fetcher{Region: "us-east-1", Hosts: public.Hosts, Transport: public.Transport, Credentials: signer}
	stranger := &s3.Fetcher{Region: "us-east-1", Hosts: public.Hosts, Transport: public.Transport, Credentials: credentials.NewStaticCredentialsProvider("stranger", "s3cr3t", "")}
	paths := []string{"/modules/a%20b+c/%C3%B6.zip", "/modules/dir"}
	fetch := func(f *s3.Fetcher, want error) {
		t.Helper()
		for _, path := range paths {
			report, err := download(t, f, "s3::"+gatewayURL+path)
			if !errors.Is(err, want) || want == nil && err != nil || err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%s: %v, want %v", path, err, want)
			}
			if err == nil {
				if data, err := os.ReadFile(filepath.Join(report.Dir, "main.tf")); err != nil || string(data) != "# main" {
					t.Errorf("%s: main.tf is %q, %v", path, data, err)
				}
			}
		}
	}
	fetch(private, nil)
	fetch(public, failure.ErrUnauthorized)
	policy := `{"Statement":[{"Effect":"Allow","Principal":"*","Action":["s3:GetObject","s3:ListBucket"],"Resource":["arn:aws:s3:::modules","arn:aws:s3:::modules/*"]}]}`
	must.Get(owner.PutBucketPolicy(t.Context(), &awss3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy}))(t)
	fetch(public, nil)
	fetch(stranger, failure.ErrNotFound) // as this server answers for an unknown user
}
