// Package s3 downloads modules from Amazon S3 and compatible stores, and keeps files there. It is experimental.
//
//	options := module.Options{Fetcher: &s3.Fetcher{Credentials: config.Credentials, Region: config.Region}}
//	report, err := module.Download(ctx, registry, module.Request{Source: source, Dir: dir}, options)
//
// A location is an archive, if its path has the suffix of an archive or it has the parameter
// "archive", and otherwise a directory of objects:
//
//	s3::https://s3.amazonaws.com/BUCKET/KEY.zip
//	s3::https://s3-REGION.amazonaws.com/BUCKET/KEY.zip
//	BUCKET.s3.REGION.amazonaws.com/KEY.tar.gz
//	s3::https://store.example.com/BUCKET/DIRECTORY?region=REGION
//
// The host of S3 names the region: each of the forms that AWS documents, also for China, GovCloud, FIPS, dual stack,
// access points and VPC endpoints. The global s3.amazonaws.com means us-east-1.
//
// A registry that the caller does not control may return any location. Requests are signed with the
// caller's credentials only for the hosts that [Fetcher.Hosts] permits.
//
// The package adds 11 modules and 3 MB to a program. go-getter supports the same locations, Google
// Cloud Storage and Mercurial with about 790 packages, but neither an HTTP client nor limits for
// object stores. A program that already uses go-getter can wrap it:
//
//	type Getter struct{}
//
//	func (Getter) FetchModule(ctx context.Context, loc *module.Location, dir string, _ module.Options) ([]string, error) {
//		if err := os.Remove(dir); err != nil { // go-getter creates it
//			return nil, err
//		}
//		client := &getter.Client{Ctx: ctx, Src: loc.Source(), Dst: dir, Mode: getter.ClientModeDir, DisableSymlinks: true}
//		return nil, client.Get()
//	}
package s3
