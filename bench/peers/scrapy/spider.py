"""Crawls the lab with Scrapy: robots.txt honoured, nofollow links ignored, JSON lines written.

scrapy runspider spider.py -a seeds=FILE -s CONCURRENT_REQUESTS=64 -O pages.jl
"""

from urllib.parse import urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor


class LabSpider(scrapy.Spider):
    name = "lab"
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "DEPTH_LIMIT": 0,
        "DOWNLOAD_TIMEOUT": 30,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    }

    def __init__(self, seeds, *args, **kwargs):
        super().__init__(*args, **kwargs)
        with open(seeds) as f:
            self.start_urls = f.read().split()
        # As the others, it crawls only the hosts of the seeds.
        self.allowed_domains = list({urlsplit(u).hostname for u in self.start_urls})
        self.links = LinkExtractor()

    def parse(self, response):
        yield {"url": response.url, "status": response.status, "title": response.css("title::text").get()}
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        for link in self.links.extract_links(response):
            if not link.nofollow:
                yield response.follow(link)
