// NVTX without a tool attached, which is what it does then: nothing. With -DHIPCOMPAT_ROCTX marks and ranges go to roctx.
#pragma once

#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN = 0,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64 = 2,
    NVTX_PAYLOAD_TYPE_DOUBLE = 3
} nvtxPayloadType_t;
typedef union nvtxMessageValue_t {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef union nvtxPayload_t {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
} nvtxPayload_t;
typedef struct nvtxEventAttributes_v2 {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType;
    int32_t reserved0;
    nvtxPayload_t payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;

#ifdef HIPCOMPAT_ROCTX
#include <rocprofiler-sdk-roctx/roctx.h>
static inline void nvtxMarkA(const char *text) { roctxMarkA(text); }
static inline int nvtxRangePushA(const char *text) { return roctxRangePushA(text); }
static inline int nvtxRangePop(void) { return roctxRangePop(); }
static inline nvtxRangeId_t nvtxRangeStartA(const char *text) { return roctxRangeStartA(text); }
static inline void nvtxRangeEnd(nvtxRangeId_t range) { roctxRangeStop(range); }
#else
static inline void nvtxMarkA(const char *text) { (void)text; }
static inline int nvtxRangePushA(const char *text) { return (void)text, -2; }  // NVTX_NO_PUSH_POP_TRACKING
static inline int nvtxRangePop(void) { return -2; }
static inline nvtxRangeId_t nvtxRangeStartA(const char *text) { return (void)text, (nvtxRangeId_t)0; }
static inline void nvtxRangeEnd(nvtxRangeId_t range) { (void)range; }
#endif
static inline int nvtxRangePushEx(const nvtxEventAttributes_t *event) {
    return nvtxRangePushA(event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "");
}
static inline void nvtxMarkEx(const nvtxEventAttributes_t *event) {
    nvtxMarkA(event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "");
}
static inline void nvtxNameOsThreadA(uint32_t thread, const char *name) { (void)thread, (void)name; }

#define nvtxMark nvtxMarkA
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxNameOsThread nvtxNameOsThreadA
