package module_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
)

const (
	sum256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	sumMD5 = "d41d8cd98f00b204e9800998ecf8427e"
)

func of(kind module.Kind, url string, format string, subdir string) module.Location {
	return module.Location{Kind: kind, URL: url, Archive: format, Subdir: subdir}
}

func web(url string, format string) module.Location {
	return of(module.KindHTTP, url, format, "")
}

func repo(url, subdir, ref string) module.Location {
	return module.Location{Kind: module.KindGit, URL: url, Subdir: subdir, Ref: ref}
}

// locations are texts and the locations that they mean.
var locations = []struct {
	text string
	want module.Location
}{
	// Archives: the format is in the path or in a parameter.
	{"https://example.com/vpc.zip", web("https://example.com/vpc.zip", "zip")},
	{"https://example.com/vpc.tar.gz", web("https://example.com/vpc.tar.gz", "tar.gz")},
	{"https://example.com/vpc.tgz", web("https://example.com/vpc.tgz", "tar.gz")},
	{"https://example.com/vpc.gz", web("https://example.com/vpc.gz", "tar.gz")},
	{"https://example.com/vpc.tar.bz2", web("https://example.com/vpc.tar.bz2", "tar.bz2")},
	{"https://example.com/vpc.tar.tbz2", web("https://example.com/vpc.tar.tbz2", "tar.bz2")},
	{"https://example.com/vpc.bz2", web("https://example.com/vpc.bz2", "tar.bz2")},
	{"https://example.com/vpc.tar.xz", web("https://example.com/vpc.tar.xz", "tar.xz")},
	{"https://example.com/vpc.txz", web("https://example.com/vpc.txz", "tar.xz")},
	{"https://example.com/vpc.xz", web("https://example.com/vpc.xz", "tar.xz")},
	{"https://example.com/vpc?archive=zip", web("https://example.com/vpc", "zip")},
	{"https://example.com/vpc?archive=tgz", web("https://example.com/vpc", "tar.gz")},
	{"https://example.com/vpc.zip?archive=tar.gz", web("https://example.com/vpc.zip", "tar.gz")},
	{"https://example.com/vpc.zip?archive=false", web("https://example.com/vpc.zip", "none")},
	{"https://example.com/vpc?archive=", web("https://example.com/vpc", "")},
	{"https://example.com/vpc.zip?archive=&checksum=", web("https://example.com/vpc.zip", "zip")},
	{"https://example.com/vpc?archive=0", web("https://example.com/vpc", "none")},
	{"https://example.com/vpc.zip?checksum=md5:" + sumMD5, module.Location{Kind: module.KindHTTP, URL: "https://example.com/vpc.zip", Archive: "zip", Checksum: "md5:" + sumMD5}},
	{"https://example.com/vpc.zip?checksum=" + strings.ToUpper(sum256), module.Location{Kind: module.KindHTTP, URL: "https://example.com/vpc.zip", Archive: "zip", Checksum: "sha256:" + sum256}},
	{"https://example.com/vpc.zip?filename=x.zip&archive=zip", web("https://example.com/vpc.zip", "zip")},
	// Other parameters are not changed.
	{"https://example.com/vpc.zip?X-Sig=a%2Fb+c&archive=zip&Z=1&Z=2", web("https://example.com/vpc.zip?X-Sig=a%2Fb+c&Z=1&Z=2", "zip")},
	{"https://user:secret@example.com/vpc.zip?token=secret", web("https://user:secret@example.com/vpc.zip?token=secret", "zip")},
	{"https://example.com/vpc.zip?b=%zz&a", web("https://example.com/vpc.zip?b=%zz&a", "zip")},
	{"https://example.com/d?x=1&&archive=zip&", web("https://example.com/d?x=1&&", "zip")},
	{"https://example.com/d?next=https://example.org//x", web("https://example.com/d?next=https://example.org//x", "")},
	// Pages.
	{"https://example.com/vpc", web("https://example.com/vpc", "")},
	{"http://example.com/vpc", web("http://example.com/vpc", "")},
	{"https://example.com:8443", web("https://example.com:8443", "")},
	{"HTTPS://example.com/x.zip", web("https://example.com/x.zip", "zip")},
	{"https::https://example.com/x.zip", web("https://example.com/x.zip", "zip")},
	{"  https://example.com/x.zip\n", web("https://example.com/x.zip", "zip")},
	{"https://example.com/my modules/a b.zip?c=d e", web("https://example.com/my%20modules/a%20b.zip?c=d%20e", "zip")},
	// Subdirectories.
	{"https://example.com/vpc.zip//modules/a?archive=zip", of(module.KindHTTP, "https://example.com/vpc.zip", "zip", "modules/a")},
	{"https://api.github.com/repos/o/r/tarball/v1.0.0//*?archive=tar.gz", of(module.KindHTTP, "https://api.github.com/repos/o/r/tarball/v1.0.0", "tar.gz", "*")},
	{"https://example.com/x.tgz//*/modules/./vpc/", of(module.KindHTTP, "https://example.com/x.tgz", "tar.gz", "*/modules/vpc")},
	{"https://example.com/x.zip//", web("https://example.com/x.zip", "zip")},
	{"https://example.com/x.zip//.", web("https://example.com/x.zip", "zip")},
	{"https://example.com/x.zip//a//b", of(module.KindHTTP, "https://example.com/x.zip", "zip", "a/b")},
	{"https://example.com/x.zip///etc", of(module.KindHTTP, "https://example.com/x.zip", "zip", "etc")},
	{"https://example.com/x.zip////a///b", of(module.KindHTTP, "https://example.com/x.zip", "zip", "a/b")},
	{"https://example.com/x.zip///../a", of(module.KindHTTP, "https://example.com/x.zip", "zip", "a")},
	{"https://example.com/x.zip////", web("https://example.com/x.zip", "zip")},
	{"/srv/modules///vpc", of(module.KindLocal, "file:///srv/modules", "", "vpc")},
	{"github.com/acme/vpc/modules////a", repo("https://github.com/acme/vpc.git", "modules/a", "")},
	// Repositories of git.
	{"git::https://example.com/code/vpc.git", repo("https://example.com/code/vpc.git", "", "")},
	{"git::https://example.com/code/vpc.git?ref=v1.2.0", repo("https://example.com/code/vpc.git", "", "v1.2.0")},
	{"git::https://example.com/code/vpc.git//modules/a?ref=release%2F1.0", repo("https://example.com/code/vpc.git", "modules/a", "release/1.0")},
	{"git::https://example.com/code/vpc.git?ref=main&depth=1", module.Location{Kind: module.KindGit, URL: "https://example.com/code/vpc.git", Ref: "main", Depth: 1}},
	{"git::https://example.com/code/vpc.git?ref=&depth=", repo("https://example.com/code/vpc.git", "", "")},
	{"git::https://example.com/code/vpc.git?other=thing&ref=main", repo("https://example.com/code/vpc.git?other=thing", "", "main")},
	{"git::ssh://git@example.com/code/vpc.git", repo("ssh://git@example.com/code/vpc.git", "", "")},
	{"git::ssh://git@example.com:2222/code/vpc.git", repo("ssh://git@example.com:2222/code/vpc.git", "", "")},
	{"git::git+ssh://deploy@example.com/vpc.git", repo("git+ssh://deploy@example.com/vpc.git", "", "")},
	{"git::http://example.com/vpc.git", repo("http://example.com/vpc.git", "", "")},
	{"git://example.com/code/vpc.git//a/b", repo("git://example.com/code/vpc.git", "a/b", "")},
	{"git::git@example.com:code/vpc.git//a?ref=v1", repo("ssh://git@example.com/code/vpc.git", "a", "v1")},
	{"git@github.com:acme/vpc.git", repo("ssh://git@github.com/acme/vpc.git", "", "")},
	{"git@github.com:/acme/vpc.git?ref=v1", repo("ssh://git@github.com/acme/vpc.git", "", "v1")},
	{"git@example.com:my modules/vpc.git//a b", repo("ssh://git@example.com/my%20modules/vpc.git", "a b", "")},
	// Users: git decodes them.
	{"git::ssh://alice%40example.com@example.com:22/vpc.git", repo("ssh://alice%40example.com@example.com:22/vpc.git", "", "")},
	{"git::ssh://alice@example.com@example.com/vpc.git//a", repo("ssh://alice%40example.com@example.com/vpc.git", "a", "")},
	{"git::https://alice@example.com@example.com/vpc.git", repo("https://alice%40example.com@example.com/vpc.git", "", "")},
	{`git::ssh://DOM%5Calice@example.com/vpc.git`, repo("ssh://DOM%5Calice@example.com/vpc.git", "", "")},
	{"git::https://DOM%5Calice@example.com/vpc.git", repo("https://DOM%5Calice@example.com/vpc.git", "", "")},
	// Hosts and aliases of the SSH configuration, without a user.
	{"git::github:acme/vpc.git", repo("github:acme/vpc.git", "", "")},
	{"git::GitHub:acme/vpc.git//a?ref=v1", repo("github:acme/vpc.git", "a", "v1")},
	{"git::git.example.com:/srv/vpc.git", repo("git.example.com:/srv/vpc.git", "", "")},
	{"git::my-host:~/vpc.git?other=1", repo("my-host:~/vpc.git?other=1", "", "")},
	{"git::ext:sh", repo("ext:sh", "", "")}, // a host
	{"git@github:acme/vpc.git", repo("ssh://git@github/acme/vpc.git", "", "")},
	{"git@my_host:acme/vpc.git///a", repo("ssh://git@my_host/acme/vpc.git", "a", "")},
	// Schemes in upper case.
	{"git::HTTPS://example.com/vpc.git", repo("https://example.com/vpc.git", "", "")},
	{"git::SSH://git@example.com/vpc.git", repo("ssh://git@example.com/vpc.git", "", "")},
	{"git::FILE:///srv/vpc.git", repo("file:///srv/vpc.git", "", "")},
	{"GIT://example.com/vpc.git", repo("git://example.com/vpc.git", "", "")},
	{"hg::HTTPS://example.com/vpc", of(module.KindMercurial, "https://example.com/vpc", "", "")},
	{"s3::HTTPS://s3.amazonaws.com/bucket/vpc.zip", of(module.KindS3, "https://s3.amazonaws.com/bucket/vpc.zip", "zip", "")},
	{"OCI://registry.example.com/vpc", of(module.KindOCI, "oci://registry.example.com/vpc", "", "")},
	{"FILE:///srv/vpc", of(module.KindLocal, "file:///srv/vpc", "", "")},
	// The word before "::" counts as it is: no CLI knows this one.
	{"GIT::https://example.com/vpc.git", module.Location{Kind: module.KindOther, Getter: "GIT", URL: "https://example.com/vpc.git"}},
	{"github.com/acme/vpc", repo("https://github.com/acme/vpc.git", "", "")},
	{"github.com/acme/vpc.git", repo("https://github.com/acme/vpc.git", "", "")},
	{"github.com/acme/vpc?ref=v1", repo("https://github.com/acme/vpc.git", "", "v1")},
	{"github.com/acme/vpc//modules/a?ref=v1", repo("https://github.com/acme/vpc.git", "modules/a", "v1")},
	{"github.com/acme/vpc/modules//a", repo("https://github.com/acme/vpc.git", "modules/a", "")},
	{"git::github.com/acme/vpc", repo("https://github.com/acme/vpc.git", "", "")},
	{"bitbucket.org/acme/vpc", repo("https://bitbucket.org/acme/vpc.git", "", "")},
	{"bitbucket.org/acme/vpc.git//a?ref=v1", repo("https://bitbucket.org/acme/vpc.git", "a", "v1")},
	{"git::file:///srv/vpc.git", repo("file:///srv/vpc.git", "", "")},
	{"git::/srv/vpc.git?ref=v1", repo("file:///srv/vpc.git", "", "v1")},
	// Other methods.
	{"hg::https://example.com/vpc?rev=default", module.Location{Kind: module.KindMercurial, URL: "https://example.com/vpc", Ref: "default"}},
	{"hg::ssh://hg@example.com/vpc//a", of(module.KindMercurial, "ssh://hg@example.com/vpc", "", "a")},
	{"s3::https://s3-eu-west-1.amazonaws.com/bucket/vpc.zip", of(module.KindS3, "https://s3-eu-west-1.amazonaws.com/bucket/vpc.zip", "zip", "")},
	{"s3::https://minio.example.com:9000/bucket/vpc.zip?region=eu&aws_access_key_secret=secret", of(module.KindS3, "https://minio.example.com:9000/bucket/vpc.zip?region=eu&aws_access_key_secret=secret", "zip", "")},
	{"s3-eu-west-1.amazonaws.com/bucket/vpc.zip", of(module.KindS3, "https://s3-eu-west-1.amazonaws.com/bucket/vpc.zip", "zip", "")},
	{"bucket.s3.amazonaws.com/dir/vpc.zip//a", of(module.KindS3, "https://s3.amazonaws.com/bucket/dir/vpc.zip", "zip", "a")},
	{"bucket.s3-eu-west-1.amazonaws.com/vpc.zip", of(module.KindS3, "https://s3-eu-west-1.amazonaws.com/bucket/vpc.zip", "zip", "")},
	{"bucket.s3.eu-west-1.amazonaws.com/vpc.zip", of(module.KindS3, "https://s3.eu-west-1.amazonaws.com/bucket/vpc.zip", "zip", "")},
	{"s3.eu-west-1.amazonaws.com/bucket/vpc.zip", of(module.KindS3, "https://s3.eu-west-1.amazonaws.com/bucket/vpc.zip", "zip", "")},
	{"gcs::https://www.googleapis.com/storage/v1/bucket/vpc.zip//sub?archive=zip#1700", module.Location{Kind: module.KindGCS, URL: "https://www.googleapis.com/storage/v1/bucket/vpc.zip", Subdir: "sub", Archive: "zip", Ref: "1700"}},
	{"gcs::https://www.googleapis.com/storage/v1/bucket/vpc.zip", of(module.KindGCS, "https://www.googleapis.com/storage/v1/bucket/vpc.zip", "zip", "")},
	{"www.googleapis.com/storage/v1/bucket/dir/vpc", of(module.KindGCS, "https://www.googleapis.com/storage/v1/bucket/dir/vpc", "", "")},
	{"oci://registry.example.com/acme/vpc", of(module.KindOCI, "oci://registry.example.com/acme/vpc", "", "")},
	{"oci://registry.example.com:5000/acme/vpc//a?tag=1.0.0", module.Location{Kind: module.KindOCI, URL: "oci://registry.example.com:5000/acme/vpc", Subdir: "a", Tag: "1.0.0"}},
	{"oci://registry.example.com/vpc?digest=sha256:" + sum256, module.Location{Kind: module.KindOCI, URL: "oci://registry.example.com/vpc", Digest: "sha256:" + sum256}},
	// This machine.
	{"file:///srv/modules/vpc", of(module.KindLocal, "file:///srv/modules/vpc", "", "")},
	{"file:///srv/vpc.zip//a", of(module.KindLocal, "file:///srv/vpc.zip", "zip", "a")},
	{"/srv/modules//vpc", of(module.KindLocal, "file:///srv/modules", "", "vpc")},
	{"/srv/my modules/50%#1", of(module.KindLocal, "file:///srv/my%20modules/50%25%231", "", "")},
	{`C:\modules\vpc`, of(module.KindLocal, "file:///C:/modules/vpc", "", "")},
	{"/srv//modules/../vpc/", of(module.KindLocal, "file:///srv", "", "vpc")},
	{"/srv/modules/./vpc/", of(module.KindLocal, "file:///srv/modules/vpc", "", "")},
	{`c:/modules/vpc`, of(module.KindLocal, "file:///c:/modules/vpc", "", "")},
	// Unknown methods.
	{"ftp://example.com/vpc.zip", module.Location{Kind: module.KindOther, Getter: "ftp", URL: "ftp://example.com/vpc.zip", Archive: "zip"}},
	{"ssh://git@example.com/vpc.git", module.Location{Kind: module.KindOther, Getter: "ssh", URL: "ssh://git@example.com/vpc.git"}},
	{"azurerm::https://example.com/vpc.zip?sv=1", module.Location{Kind: module.KindOther, Getter: "azurerm", URL: "https://example.com/vpc.zip?sv=1", Archive: "zip"}},
}

func TestParseLocation(t *testing.T) {
	t.Parallel()
	if len(locations) < 60 {
		t.Errorf("%d locations, want at least 60", len(locations))
	}
	for _, test := range locations {
		got, err := module.ParseLocation(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if diff := cmp.Diff(test.want, *got, cmpAddrs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
		roundTrip(t, got)
		if strings.Contains(got.String(), "secret") {
			t.Errorf("String is %q, want no secrets", got)
		}
		var stored module.Location
		if data, err := json.Marshal(got); err != nil || json.Unmarshal(data, &stored) != nil || stored != *got {
			t.Errorf("%s: JSON %s, %v", test.text, data, err)
		}
	}
}

var cmpAddrs = cmpopts.EquateComparable(addrs.Module{}, addrs.ModuleSource{}, addrs.Version{})

// roundTrip checks that the text of a location means the same location.
func roundTrip(t *testing.T, l *module.Location) {
	t.Helper()
	again, err := module.ParseLocation(l.Source())
	if err != nil {
		t.Fatalf("%+v: its own text %q is refused: %v", *l, l.Source(), err)
	}
	if *again != *l {
		t.Errorf("ParseLocation(%q) = %+v, want %+v", l.Source(), *again, *l)
	}
	if s := l.String(); strings.ContainsFunc(s, unicode.IsControl) || len(s) > 1100 {
		t.Errorf("String is %q, want at most 1,100 printable bytes", s)
	}
}

func TestLocationRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, reason string }{
		{"", "empty"},
		{" \n", "empty"},
		{"https://example.com/" + strings.Repeat("x", 16<<10), "too long"},
		{"https://example.com/a\x00b", "control"},
		{"https://example.com/a\x1b[2Jb", "control"},
		{"https://example.com/\xff", "UTF-8"},
		{"./vpc", "relative"},
		{"../vpc", "relative"},
		{`..\vpc`, "relative"},
		{".", "relative"},
		{"hashicorp/consul/aws", "address of a module"},
		{"hashicorp/consul/aws//modules/a", "address of a module"},
		{"registry.example.com/acme/vpc/aws", "address of a module"},
		{"gitlab.com/acme/vpc/aws", "address of a module"},
		{"git::ssh://git@example.com/x.git?sshkey=c2VjcmV0", "SSH key"},
		{"https://example.com/x.zip//\uff0e\uff0e/a", "other forms of dots"},
		{"vpc", "neither"},
		{"acme/vpc", "neither"},
		{"gitlab.com/acme/vpc", "neither"},
		{"someone@example.com:vpc.git", "neither"},
		{"https://", "the host is missing"},
		{"https:///vpc.zip", "the host is missing"},
		{"https:vpc.zip", "neither"},
		{"https://:443/vpc.zip", "the host is missing"},
		{"https://-x/vpc.zip", "hyphen"},
		{"ssh://-oProxyCommand=x/y", "hyphen"},
		{"git+ssh://-oProxyCommand=x@example.com/y", "hyphen"},
		{"svn::svn+ssh://-oProxyCommand=x/y", "hyphen"},
		{`ftp://example.com/a\b`, "backslash"},
		{"https://exa mple.com/", "not a URL"},
		{"https://example.com:port/", "not a URL"},
		{`https://example.com/a\b.zip`, "backslash"},
		{"https://example.com/vpc.zip#x", "fragment"},
		{"git::https://example.com/vpc.git#x", "fragment"},
		{"https://example.com/vpc.zip?a=1#x", "fragment"},
		{"https://example.com/vpc.zip#1700", "fragment"},
		{"gcs::https://www.googleapis.com/storage/v1/bucket/vpc.zip#", "generation"},
		{"gcs::https://www.googleapis.com/storage/v1/bucket/vpc.zip#1x", "generation"},
		{"gcs::https://www.googleapis.com/storage/v1/bucket/vpc.zip#1//sub", "generation"},
		{`\\server\share\vpc`, "network paths"},
		{"https::ftp://example.com/x.zip", "scheme"},
		// Directories.
		{"https://example.com/x.zip//..", "out of the package"},
		{"https://example.com/x.zip//../a", "out of the package"},
		{"https://example.com/x.zip//a/../..", "out of the package"},
		{`https://example.com/x.zip///..\a`, "backslash"},
		{`https://example.com/x.zip//a\..\..`, "backslash"},
		{"https://example.com/x.zip//C:/a", "colon"},
		{"github.com/acme/vpc/../..", "out of the package"},
		// Parameters.
		{"https://example.com/x?archive=rar", "archive format"},
		{"https://example.com/x?archive=true", "archive format"},
		{"https://example.com/x?archive=zip&archive=tgz", "twice"},
		{"https://example.com/x?archive=%zz", "escaped"},
		{"https://example.com/x.zip?checksum=file:https://example.com/SUMS", "another file"},
		{"https://example.com/x.zip?checksum=sha256:abc", "checksum"},
		{"https://example.com/x.zip?checksum=md5:" + sum256, "checksum"},
		{"https://example.com/x.zip?checksum=crc32:00000000", "checksum"},
		{"https://example.com/x.zip?%63hecksum=sha256:abc", "checksum"},
		{"git::https://example.com/x.git?checksum=" + sum256, "not for repositories"},
		{"git::https://example.com/x.git?archive=zip", "not for repositories"},
		{"git::https://example.com/x.git?depth=x", "depth"},
		{"git::https://example.com/x.git?depth=-1", "depth"},
		{"oci://example.com/x?archive=zip", "can only have"},
		{"oci://example.com/x?tag=a&digest=sha256:" + sum256, "both"},
		{"oci://example.com/x?tag=", "tag"},
		{"oci://example.com/x?tag=a/b", "tag"},
		{"oci://example.com/x?digest=sha256:zz", "digest"},
		{"oci://example.com/x:1.0", "?tag="},
		{"oci://example.com", "oci://HOST/REPOSITORY"},
		{"oci::https://example.com/x", "oci://HOST/REPOSITORY"},
		{"oci://user@example.com/x", "user"},
		// Texts that a program could take for an option or a command.
		{"git::https://example.com/x.git?ref=--upload-pack=touch%20/tmp/x", "ref"},
		{"git::https://example.com/x.git?ref=-x", "ref"},
		{"git::https://example.com/x.git?ref=a:b", "ref"},
		{"git::https://example.com/x.git?ref=%2Bmain", "ref"},
		{"git::https://example.com/x.git?ref=main%0a", "ref"},
		{"git::https://example.com/x.git?ref=a..b", "ref"},
		{"git::https://example.com/x.git?ref=HEAD~1", "ref"},
		{"git::https://example.com/x.git?ref=@{1}", "ref"},
		{"git::https://example.com/x.git?ref=" + strings.Repeat("x", 256), "too long"},
		{"hg::https://example.com/x?rev=--config=x", "ref"},
		{"git::ext::sh -c touch% /tmp/x", "remote helper"},
		{"git::codecommit::eu-west-1://repo", "remote helper"},
		{"hg::git::https://example.com/x", "::"},
		{"git::e-x::sh -c touch", "remote helper"},
		{"git::e.x::sh", "remote helper"},
		{"git::c:x/vpc.git", "neither"}, // a drive on Windows
		{"git::my_host:acme/vpc.git", "neither"},
		{"git::127.0.0.1:acme/vpc.git", "neither"},
		{"git::https:example.com/vpc.git", "neither"},
		{"git::github:", "path"},
		{"git::github:my vpc.git", "spaces"},
		{"git::github:vpc.git#x", "hashes"},
		{`git::github:a\b`, "backslashes"},
		{"github:acme/vpc.git", "neither"},
		{"git::alice@example.com:vpc.git", "only the user git"},
		{"git::DOM%5Calice@example.com:vpc.git", "only the user git"},
		{"alice@example.com@example.org:vpc.git", "neither"},
		{"GIT@example.com:vpc.git", "neither"},
		{"GITHUB.COM/acme/vpc", "neither"},
		{"git::GITHUB.COM/acme/vpc", "neither"},
		{"git::fd::17", "::"},
		{"git::-oProxyCommand=x:y/z", "neither"},
		{"git::ssh://-oProxyCommand=x/y", "hyphen"},
		{"git::ssh://-oProxyCommand=x@example.com/y", "hyphen"},
		{"git::ssh://10.0.0.1%2Fx@example.com/y.git", "escaped"}, // git connects to 10.0.0.1
		{"git::ssh://x:10.0.0.1%2Fx@example.com/y.git", "escaped"},
		{"git::ssh://x%40%5B10.0.0.1%5D@example.com/y.git", "escaped"}, // here, too
		{"git::ssh://x%0A@example.com/y.git", "escaped"},
		{"git::ssh://x%00@example.com/y.git", "escaped"},
		{"git::ssh://x%20y@example.com/y.git", "escaped"},
		{"git::ssh://%2Dx@example.com/y.git", "hyphen"},
		{"ssh://10.0.0.1%2Fx@example.com/y.git", "escaped"},
		{"git::--upload-pack=x", "neither"},
		{"git::ftp://example.com/x.git", "scheme"},
		{"git::https://example.com", "repository"},
		{"git::ssh://git@example.com:acme/vpc.git", "port"},
		{"git::file://example.com/x.git", "file:///PATH"},
		{"file://relative/path", "file:///PATH"},
		{"file:relative", "neither"},
		{"file:/srv/vpc", "neither"},
		{"git@example.com:a://b", "empty element"},
		{"/", "path is missing"},
		{"/.//srv", "path is missing"},
		{"file:///", "path is missing"},
		{"ftp:////x", "path are missing"},
		{"https://exam ple.com/a.zip", "not a URL"},
		{"https://example.com/a\u2003b.zip", "spaces"},
		{"https://example.com/a.zip?a=b\u00a0c", "spaces"},
		{"https://example.com/a.zip// b", "space"},
		{"dfgd:dgfh/dfg", "neither"},
		{"localhost:8080/x.zip", "neither"},
		{"ftp:/x.zip", "neither"},
		{"git@:x", "git@HOST:PATH"},
		{"git@example.com:", "git@HOST:PATH"},
		{"git::s3::https://example.com/x", "::"},
		{"github.com/acme", "github.com/OWNER/REPO"},
		{"github.com//acme/vpc", "neither"},
		{"bitbucket.org/acme", "bitbucket.org/OWNER/REPO"},
		{"bitbucket.org/acme/vpc/a", "bitbucket.org/OWNER/REPO"},
		{"www.googleapis.com/storage/v1/bucket/", "BUCKET/OBJECT"},
		{"bucket.x.y.z.amazonaws.com/a", "amazonaws.com"},
		{"s3.amazonaws.com/", "amazonaws.com"},
		{"gcs::s3.amazonaws.com/a/b.zip", "s3::"},
	} {
		got, err := module.ParseLocation(test.text)
		e, ok := errors.AsType[*addrs.ParseError](err)
		if !ok {
			t.Errorf("%.80q: %v, %v; want a *ParseError", test.text, got, err)
			continue
		}
		if !strings.Contains(e.Reason, test.reason) || e.Kind != "module location" {
			t.Errorf("%.80q: %v, want a reason with %q", test.text, err, test.reason)
		}
		if strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 600 {
			t.Errorf("error text %q, want at most 600 printable bytes", err)
		}
	}
}

// jwt is a JSON Web Token, as one real server has it in its paths. A part of it is "secret".
const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtIn0.secretsecretsecretsecret"

// TestLocationRedacted checks that the text of a location, and errors about it, contain no
// secrets.
func TestLocationRedacted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://user:secret@example.com/x.zip?sig=secret":                    "https://example.com/x.zip?...",
		"https://secret@example.com/x.zip":                                    "https://example.com/x.zip",
		"https://example.com/x?sig=secret&archive=zip":                        "https://example.com/x?archive=zip&...",
		"git::https://token:secret@example.com/x.git//a?ref=v1&access=secret": "git::https://example.com/x.git//a?ref=v1&...",
		"git::ssh://git:secret@example.com/x.git":                             "git::ssh://example.com/x.git",
		"s3::https://example.com/x.zip?aws_access_key_secret=secret":          "s3::https://example.com/x.zip?...",
		"https://example.com/\u202egpj.zip":                                   "https://example.com/%E2%80%AEgpj.zip",
		"https://example.com/" + jwt + "/x.zip":                               "https://example.com/.../x.zip",
		"git::https://example.com/" + jwt + "/x.git?ref=v1":                   "git::https://example.com/.../x.git?ref=v1",
	} {
		l, err := module.ParseLocation(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, verb := range []string{"%v", "%s", "%+v", "%q"} {
			if got := fmt.Sprintf(verb, l) + fmt.Sprintf(verb, *l); strings.Contains(got, "secret") {
				t.Errorf("%s of %s: %s, want no secrets", verb, text, got)
			}
		}
		if l.String() != want {
			t.Errorf("%s: String is %q, want %q", text, l, want)
		}
	}
	for _, text := range []string{
		"https://user:secret@example.com:port/x?sig=secret", "git::ssh://git@example.com/x.git?sshkey=secret", "https://user:sec/ret-secret@example.com/", "user:secret@example.com:x",
		"https://user:secret@example.com/x.zip#secret?secret", "git::ssh://git:secret@example.com:acme/x.git",
		"https://example.com/" + jwt + "/x.zip?archive=rar", "//example.com/" + jwt + "/x?", strings.Repeat("a/", 95) + jwt,
		"ftp//user:secret@x", "https://user:secret@/x", "git::https://user:secret@example.com/x?ref=-secret",
	} {
		if _, err := module.ParseLocation(text); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec/") {
			t.Errorf("ParseLocation(%q): error %v, want one without secrets", text, err)
		}
	}
}

func TestSuggestion(t *testing.T) {
	t.Parallel()
	_, err := module.ParseLocation("git::ssh://git@example.com:acme/vpc.git?ref=v1")
	e, ok := errors.AsType[*addrs.ParseError](err)
	if !ok || e.Suggestion != "git::git@example.com:acme/vpc.git" {
		t.Errorf("error %v, want a suggestion", err)
	}
	_, err = module.ParseLocation("git@[::1]:vpc.git") // this form has no equivalent
	if e, ok := errors.AsType[*addrs.ParseError](err); !ok || e.Suggestion != "" {
		t.Errorf("error %v, want no suggestion", err)
	}
}

func TestWithSubdir(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ base, sub, want string }{
		{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a/b", "c", "a/b/c"}, {"*", "modules/x", "*/modules/x"}, {"a", "./b//c/", "a/b/c"}, {"a", ".", "a"},
	} {
		l, err := module.Location{Kind: module.KindHTTP, URL: "https://example.com/x", Subdir: test.base}.WithSubdir(test.sub)
		if err != nil || l.Subdir != test.want {
			t.Errorf("WithSubdir(%q) of %q: %v, %v; want %q", test.sub, test.base, l, err, test.want)
		}
	}
	for _, sub := range []string{"..", "../b", "b/../../c", "/b", `b\c`, "c:", "a?b", "a\x00"} {
		if l, err := (module.Location{Subdir: "a"}).WithSubdir(sub); err == nil {
			t.Errorf("WithSubdir(%q) = %v, want an error", sub, l)
		}
	}
}

func TestResolveLocation(t *testing.T) {
	t.Parallel()
	base := parseURL(t, "https://registry.example.com/v1/modules/acme/vpc/aws/1.0.0/download?x=1")
	for answer, want := range map[string]string{
		"/files/vpc.zip":               "https://registry.example.com/files/vpc.zip",
		"/files/vpc.zip?token=t":       "https://registry.example.com/files/vpc.zip?token=t",
		"./vpc.zip":                    "https://registry.example.com/v1/modules/acme/vpc/aws/1.0.0/vpc.zip",
		"../vpc.zip//sub/dir":          "https://registry.example.com/v1/modules/acme/vpc/aws/vpc.zip//sub/dir",
		"../../vpc?archive=tar.gz":     "https://registry.example.com/v1/modules/acme/vpc/vpc?archive=tar.gz",
		"//cdn.example.com/vpc.zip":    "https://cdn.example.com/vpc.zip",
		"../../../../../../../../x.gz": "https://registry.example.com/x.gz",
		" /files/vpc.zip ":             "https://registry.example.com/files/vpc.zip",
		"https://example.org/x.zip":    "https://example.org/x.zip",
		"git@example.org:x/y.git":      "git::ssh://git@example.org/x/y.git",
	} {
		l, err := module.ResolveLocation(base, answer)
		if err != nil || l.Source() != want {
			t.Errorf("%q: %v, %v; want %s", answer, l, err, want)
		}
	}
	for _, answer := range []string{
		"", "vpc.zip", "?x=1", "/a#b", `/a\b`, "/a\x00", "//", "/a%zz", ".\\x", "acme/vpc/aws", "/x.zip//../..", "/" + strings.Repeat("x", 20_000),
	} {
		if l, err := module.ResolveLocation(base, answer); err == nil {
			t.Errorf("ResolveLocation(%.50q) = %v, want an error", answer, l)
		}
	}
	// An absolute path is relative to the server, and never a local file.
	if l, err := module.ResolveLocation(base, "/etc/passwd"); err != nil || l.Kind != module.KindHTTP {
		t.Errorf("ResolveLocation(/etc/passwd) = %v, %v; want an http location", l, err)
	}
}

func TestDirectLocation(t *testing.T) {
	t.Parallel()
	base := parseURL(t, "https://registry.example.com/v1/acme/vpc/aws/1.0.0/download")
	for answer, want := range map[string]string{
		"package":                            "https://registry.example.com/v1/acme/vpc/aws/1.0.0/package",
		"package//x?archive=zip":             "https://registry.example.com/v1/acme/vpc/aws/1.0.0/package//x?archive=zip",
		"/p":                                 "https://registry.example.com/p",
		"https://cdn.example.com/p?sig=a%2f": "https://cdn.example.com/p?sig=a%2f",
		"http://cdn.example.com/p":           "http://cdn.example.com/p",
		"?x=1":                               "https://registry.example.com/v1/acme/vpc/aws/1.0.0/download?x=1",
	} {
		l, err := module.DirectLocation(base, answer)
		if err != nil || l.URL != want || !l.Direct || l.Kind != module.KindHTTP || l.Subdir != "" || l.UseRegistryCredentials {
			t.Errorf("%q: %+v, %v; want %s", answer, l, err, want)
		}
	}
	for _, answer := range []string{"", "p#x", "file:///etc/passwd", "git::https://example.com/x", "ftp://x/y", "https:x", `a\b`, "%zz"} {
		if l, err := module.DirectLocation(base, answer); err == nil {
			t.Errorf("DirectLocation(%q) = %v, want an error", answer, l)
		}
	}
}

// TestLongLocations checks the limit of 16 KiB, including the base of a relative location and
// escaped characters.
func TestLongLocations(t *testing.T) {
	t.Parallel()
	const limit = 16 << 10
	base := parseURL(t, "https://registry.example.com/v1/modules/")
	fill := func(start string, n int) string { return start + strings.Repeat("x", n-len(start)) }
	for name, parse := range map[string]func(n int) error{
		"absolute": func(n int) error {
			_, err := module.ParseLocation(fill("https://files.example.com/", n))
			return err
		},
		"of the registry": func(n int) error {
			_, err := module.DirectLocation(base, "./"+fill(base.String(), n)[len(base.String()):])
			return err
		},
		"escaped": func(n int) error { // file:///a%5B%5B…
			_, err := module.ParseLocation("/" + strings.Repeat("a", (n-8)%3) + strings.Repeat("[", (n-8)/3))
			return err
		},
		"relative and escaped": func(n int) error {
			n -= len(base.String())
			_, err := module.ResolveLocation(base, "./"+strings.Repeat("a", n%3)+strings.Repeat("<", n/3))
			return err
		},
	} {
		if err := parse(limit); err != nil {
			t.Errorf("%s of %d bytes: %.200v", name, limit, err)
		}
		if err := parse(limit + 1); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s of %d bytes: %.200v, want a short error", name, limit+1, err)
		}
	}
}

func parseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	return must.Get(url.Parse(s))(t)
}

func FuzzParseLocation(f *testing.F) {
	for _, test := range locations {
		f.Add(test.text)
	}
	f.Add("git::ext::sh -c x")
	f.Add("https://example.com/x.zip//a//../b?archive=zip&checksum=" + sum256)
	base := parseURL(f, "https://registry.example.com/v1/download")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := module.ParseLocation(text)
		if err != nil {
			if _, ok := errors.AsType[*addrs.ParseError](err); !ok || strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Errorf("error %q, want a printable ParseError", err)
			}
		} else {
			roundTrip(t, l)
			for elem := range strings.SplitSeq(l.Subdir, "/") {
				if elem == ".." || l.Subdir != "" && elem == "" {
					t.Errorf("Subdir %q, want a clean path in the package", l.Subdir)
				}
			}
			if strings.HasPrefix(l.Ref, "-") || l.Kind == "" || l.UseRegistryCredentials {
				t.Errorf("ParseLocation(%q) = %+v, want a kind and no option as ref", text, *l)
			}
		}
		if l, err := module.ResolveLocation(base, text); err == nil && strings.HasPrefix(strings.TrimSpace(text), "/") && l.Kind != module.KindHTTP {
			t.Errorf("ResolveLocation(%q) = %v, want an http location", text, l)
		}
	})
}

// nextOf returns the path of the location that a page names, or "".
func nextOf(t testing.TB, page io.Reader) (string, error) {
	t.Helper()
	src := &fake{open: map[string]func() (*module.Body, error){"https://example.com/m": func() (*module.Body, error) {
		return &module.Body{ReadCloser: io.NopCloser(page)}, nil
	}}}
	_, _, err := get(t, src, "https://example.com/m", module.Options{})
	if next := src.asked[len(src.asked)-1]; len(src.asked) == 2 && errors.Is(err, failure.ErrNotFound) {
		return strings.TrimPrefix(next, "open https://example.com/"), nil
	}
	if errors.Is(err, failure.ErrArchive) {
		err = nil
	}
	return "", err
}

func TestPages(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<meta name="terraform-get" content="https://example.com/x.zip">`:                                                "x.zip",
		`<META Content='./x' NAME=Terraform-Get />`:                                                                      "x",
		`<!DOCTYPE html><html><head><title>a</title><meta name=terraform-get content=./x></head>`:                        "x",
		`<meta name="terraform-get" content="./a?b=1&amp;c=2">`:                                                          "a?b=1&c=2",
		"<meta\n\tname = \"terraform-get\"\r\n content = ' ./x ' >":                                                      "x",
		`<meta charset=utf-8><meta name="other" content="./y"><meta name="terraform-get" content=./x>`:                   "x",
		`<meta name="terraform-get" content=""><meta name="terraform-get" content="./x">`:                                "x",
		`<meta name="terraform-get" content="./x"><meta name="terraform-get" content="./y">`:                             "x",
		`<meta name="terraform-get" name="other" content="./x" content="./y">`:                                           "x",
		`<?xml version="1.0"?><!-- > --><meta name="terraform-get" content="./x"/>`:                                      "x",
		`<script>if (a<b) "<meta name='terraform-get' content='./y'>"</SCRIPT><meta name="terraform-get" content="./x">`: "x",
		`<meta name="terraform-get" content="./a>b">`:                                                                    "a%3Eb",
		`a < b <1> </> <meta name="terraform-get" content="./x">`:                                                        "x",
		`<p =x><meta name="terraform-get" content="./x">`:                                                                "x",
		// Not in the head, or not a tag.
		`<head></head><meta name="terraform-get" content="./x">`:                       "",
		`<body><meta name="terraform-get" content="./x">`:                              "",
		`<!-- <meta name="terraform-get" content="./x"> -->`:                           "",
		`<!-- <meta name="terraform-get" content="./x">`:                               "",
		`<title><meta name="terraform-get" content="./x"></title>`:                     "",
		`<style><meta name="terraform-get" content="./x">`:                             "",
		`<noscript><meta name="terraform-get" content="./x"></noscript>`:               "",
		`<meta name="terraform-get">`:                                                  "",
		`<meta content="./x">`:                                                         "",
		`<meta name="terraform-get" content="./x"`:                                     "",
		`<metadata name="terraform-get" content="./x">`:                                "",
		`<a href="<meta name='terraform-get' content='./x'>">`:                         "",
		`{"location": "x"}`:                                                            "",
		``:                                                                             "",
		`<`:                                                                            "",
		`<meta name="terraform-get" content="`:                                         "",
		strings.Repeat(" ", 64<<10) + `<meta name=terraform-get content="./x">`:        "",
		strings.Repeat("<p>", (64<<10)/3-20) + `<meta name=terraform-get content=./x>`: "x",
	} {
		got, err := nextOf(t, strings.NewReader(page))
		if got != want || err != nil {
			t.Errorf("%.100q: %q, %v; want %q", page, got, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := nextOf(t, io.MultiReader(strings.NewReader("<html><head>"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("broken page: %v, want the error of the reader", err)
	}
	if got, err := nextOf(t, zeros{}); got != "" || err != nil { // only the start is read
		t.Errorf("endless page: %q, %v; want no location", got, err)
	}
}

func FuzzPage(f *testing.F) {
	f.Add(`<html><head><!-- x --><script>y</script><meta name="terraform-get" content='./a&amp;b'></head>`)
	f.Add(`<?x?><meta =><title>`)
	f.Fuzz(func(t *testing.T, page string) {
		if got, err := nextOf(t, strings.NewReader(page)); err == nil && got != "" && !strings.Contains(strings.ToLower(page), "meta") {
			t.Errorf("next location %q, but the page has no meta tag", got)
		}
	})
}
