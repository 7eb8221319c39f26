package s3

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/tofureg/tofureg/module"
)

// An object is a parsed location.
type object struct {
	url      *url.URL // of the location
	amazon   bool     // whether it is a host of S3
	endpoint string   // scheme and host, without the bucket
	region   string   // empty if unknown
	bucket   string
	key      string // key of an object, or of a directory without a trailing slash
	version  string // version of the object, empty for the newest
}

// parse parses a location. It returns an error for another kind of location, and for a URL without an
// object or with credentials.
func parse(loc *module.Location) (*object, error) {
	if loc.Kind != module.KindS3 {
		return nil, &module.UnsupportedError{Kind: loc.Kind, Getter: loc.Getter}
	}
	u, err := url.Parse(loc.URL)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("invalid object URL in location %s", loc)
	}
	query := u.Query()
	for name := range query {
		switch name {
		case "region", "version":
		default:
			// go-getter accepts credentials in such parameters.
			return nil, fmt.Errorf("location %s has the unsupported parameter %.50q; set Fetcher.Credentials instead of credentials in a URL", loc, name)
		}
	}
	o := &object{url: u, region: query.Get("region"), version: query.Get("version")}
	path := strings.Trim(u.Path, "/")
	o.endpoint = u.Scheme + "://" + u.Host
	if err := o.parseHost(); err != nil {
		return nil, fmt.Errorf("location %s: %w", loc, err)
	}
	if o.bucket == "" {
		o.bucket, path, _ = strings.Cut(path, "/")
	}
	o.key = path
	if o.bucket == "" || o.key == "" {
		return nil, fmt.Errorf("missing object in location %s", loc)
	}
	return o, nil
}

const region = `(?<region>[a-z]{2}(?:-[a-z]+)+-[0-9]+)`

// forms are the forms of hosts of S3, without their domain:
// https://docs.aws.amazon.com/general/latest/gr/s3.html and "Virtual hosting of general purpose buckets", "Access points" and
// "AWS PrivateLink for Amazon S3" of https://docs.aws.amazon.com/AmazonS3/latest/userguide/.
//
// The global endpoint means us-east-1, to AWS as to go-getter. Buckets elsewhere have it too, but then AWS refuses
// signatures for us-east-1, and names the region.
var forms = []struct {
	host   *regexp.Regexp
	region string // of a host without one; empty if it can be any
}{
	{form(`(?:(?<bucket>.+)\.)?(?<host>s3)`), "us-east-1"},
	{form(`(?:(?<bucket>.+)\.)?(?<host>s3-external-1)`), "us-east-1"},
	{form(`(?:(?<bucket>.+)\.)?(?<host>s3(?:-fips)?[-.]` + region + `)`), ""},
	{form(`(?:(?<bucket>.+)\.)?(?<host>s3(?:-fips)?\.dualstack\.` + region + `)`), ""},
	{form(`(?<bucket>[^.]+)\.(?<host>s3-accelerate(?:\.dualstack)?)`), ""},
	{form(`(?<bucket>[^.]+)\.(?<host>s3-accesspoint(?:-fips)?(?:\.dualstack)?\.` + region + `)`), ""},
	{form(`(?:(?<bucket>.+)\.)?(?<host>bucket\.vpce-[a-z0-9-]+\.s3\.` + region + `\.vpce)`), ""},
	{form(`(?<bucket>[^.]+)\.(?<host>accesspoint\.vpce-[a-z0-9-]+\.s3\.` + region + `\.vpce)`), ""},
}

func form(expr string) *regexp.Regexp {
	return regexp.MustCompile(`^` + expr + `(?<domain>\.amazonaws\.com(?:\.cn)?)$`)
}

// parseHost sets what the host tells: the bucket, the region, and the endpoint without the bucket.
func (o *object) parseHost() error {
	for _, f := range forms {
		m := f.host.FindStringSubmatch(strings.ToLower(o.url.Host))
		if m == nil {
			continue
		}
		part := func(name string) string {
			if i := f.host.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		host := part("host")
		switch in := part("region"); {
		case in != "":
			o.region = in
		case f.region != "" && o.region != "" && o.region != f.region:
			if !regionOnly.MatchString(o.region) {
				return fmt.Errorf("invalid region %.50q", o.region)
			}
			host = "s3." + o.region
		default:
			o.region = cmp.Or(o.region, f.region)
		}
		if strings.HasPrefix(o.region, "cn-") != (part("domain") == ".amazonaws.com.cn") && o.region != "" {
			return fmt.Errorf("the region %q is not at %s; regions of China are at amazonaws.com.cn, others at amazonaws.com", o.region, part("domain")[1:])
		}
		o.amazon, o.bucket = true, part("bucket")
		o.endpoint = o.url.Scheme + "://" + host + part("domain")
		return nil
	}
	return nil
}

var regionOnly = regexp.MustCompile(`^` + region + `$`)
