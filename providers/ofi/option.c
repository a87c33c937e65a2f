// Options of endpoints (fi_getopt(3)).
#include "internal.h"
#include "option.h"

int gx_getopt(struct gx_rail *rail, int name, void *value, size_t *len)
{
	return fi_getopt(&rail->ep->fid, FI_OPT_ENDPOINT, name, value, len);
}

int gx_setopt(struct gx_rail *rail, int name, const void *value, size_t len)
{
	return fi_setopt(&rail->ep->fid, FI_OPT_ENDPOINT, name, value, len);
}

// Providers forward what they do not know themselves to the SRX, whose owner answers
// before they are asked.
int gx_srx_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	(void) fid;
	(void) level;
	(void) name;
	(void) value;
	(void) len;
	return -FI_ENOPROTOOPT;
}

int gx_srx_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	(void) fid;
	(void) level;
	(void) name;
	(void) value;
	(void) len;
	return -FI_ENOPROTOOPT;
}
