#ifndef GOLNX_OPTION_H
#define GOLNX_OPTION_H

#include "shim.h"

int gx_getopt(struct gx_rail *rail, int name, void *value, size_t *len);
int gx_setopt(struct gx_rail *rail, int name, const void *value, size_t len);

// Of the SRX.
int gx_srx_getopt(fid_t fid, int level, int name, void *value, size_t *len);
int gx_srx_setopt(fid_t fid, int level, int name, const void *value, size_t len);

#endif
